//! Packages and units of `packaging/`, and the workflows that use them: made here and looked at, with the tools that are there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use end_to_end::binary;
use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the checkout")
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|ended| ended.status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

fn ran(program: &str, arguments: &[&str]) -> Output {
    let ended = Command::new(program).args(arguments).current_dir(root()).output().expect("it starts");
    assert!(ended.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    ended
}

fn printed(ended: &Output) -> String {
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// A small program that is the real one: packing that takes minutes.
fn program(place: &TempDir) -> PathBuf {
    let path = place.path().join("holon");
    fs::write(&path, format!("#!/bin/sh\nexec {} \"$@\"\n", binary().display())).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}

fn script(name: &str) -> String {
    root().join("packaging").join(name).display().to_string()
}

#[test]
fn the_debian_package_has_the_program_with_pages_completions_and_units() {
    if !has("dpkg-deb") {
        eprintln!("dpkg-deb is not there: no package is made");
        return;
    }
    let place = tempfile::tempdir().expect("a folder");
    let (program, folder) = (program(&place), place.path().join("dist"));
    let made = printed(&ran(&script("deb.sh"), &[text(&program), text(&folder)]));
    let package = PathBuf::from(made.trim());
    let first = fs::read(&package).expect("a package");
    ran(&script("deb.sh"), &[text(&program), text(&folder)]);
    assert!(fs::read(&package).expect("a package") == first, "two of the same program are equal");
    let about = printed(&ran("dpkg-deb", &["--field", text(&package)]));
    let version = printed(&ran(text(&program), &["--version"]));
    let version = version.split_whitespace().nth(1).expect("a version").to_owned();
    assert!(
        about.contains("Package: holon\n") && about.contains(&format!("Version: {version}\n")),
        "{about}"
    );
    let unpacked = place.path().join("root");
    ran("dpkg-deb", &["--extract", text(&package), text(&unpacked)]);
    let shown = printed(&ran(text(&unpacked.join("usr/bin/holon")), &["--version"]));
    assert!(shown.contains(&version), "{shown}");
    for file in [
        "share/man/man1/holon.1.gz",
        "share/man/man1/holon-daemon-start.1.gz",
        "share/bash-completion/completions/holon",
        "share/zsh/vendor-completions/_holon",
        "share/fish/vendor_completions.d/holon.fish",
        "share/doc/holon/copyright",
        "lib/systemd/user/holon.service",
        "lib/systemd/system/holon.service",
        "lib/systemd/system/holon.socket",
    ] {
        let about = fs::metadata(unpacked.join("usr").join(file));
        assert!(about.is_ok_and(|about| about.len() > 100), "{file}");
    }
}

#[test]
fn the_archive_is_for_systems_without_packages() {
    let place = tempfile::tempdir().expect("a folder");
    let (program, folder) = (program(&place), place.path().join("dist"));
    let archive = printed(&ran(&script("archive.sh"), &[text(&program), text(&folder)]));
    let archive = archive.trim();
    let first = fs::read(archive).expect("an archive");
    ran(&script("archive.sh"), &[text(&program), text(&folder)]);
    assert!(fs::read(archive).expect("an archive") == first, "two of the same program are equal");
    let listed = printed(&ran("tar", &["-tzf", archive]));
    for end in [
        "/bin/holon\n",
        "/man1/holon.1\n",
        "/completions/holon.zsh\n",
        "/system/holon.socket\n",
        "/LICENSE\n",
    ] {
        assert!(listed.contains(end), "{end}: {listed}");
    }
}

/// A blob of an image by what refers to it: what it is called is its sum.
fn blob(layout: &Path, about: &Value) -> PathBuf {
    let digest = about["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:")).expect("a sum");
    let path = layout.join("blobs/sha256").join(digest);
    assert_eq!(printed(&ran("sha256sum", &[text(&path)])).split(' ').next(), Some(digest));
    assert_eq!(fs::metadata(&path).expect("a blob").len(), about["size"].as_u64().expect("a size"));
    path
}

fn document(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a document")).expect("JSON")
}

#[test]
fn the_image_is_a_layout_that_needs_no_daemon_to_make() {
    let place = tempfile::tempdir().expect("a folder");
    let (program, folder) = (program(&place), place.path().join("dist"));
    // A system with a shell, as an archive of somebody else.
    let system = place.path().join("system");
    fs::create_dir_all(system.join("bin")).expect("a folder");
    fs::write(system.join("bin/sh"), "a shell").expect("a file");
    let root = place.path().join("root.tar.gz");
    ran("tar", &["-czf", text(&root), "-C", text(&system), "bin"]);
    for more in [&[][..], &[text(&root)]] {
        let arguments = [&[text(&program), text(&folder)][..], more].concat();
        let image = PathBuf::from(printed(&ran(&script("image.sh"), &arguments)).trim());
        let first = fs::read(&image).expect("an image");
        ran(&script("image.sh"), &arguments);
        assert!(fs::read(&image).expect("an image") == first, "two of the same program are equal");
        let layout = tempfile::tempdir().expect("a folder");
        ran("tar", &["-xf", text(&image), "-C", text(layout.path())]);
        let layout = layout.path();
        assert_eq!(document(&layout.join("oci-layout"))["imageLayoutVersion"], "1.0.0");
        let index = document(&layout.join("index.json"));
        let manifest = document(&blob(layout, &index["manifests"][0]));
        let config = document(&blob(layout, &manifest["config"]));
        assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/usr/bin/holon"]));
        let layers = manifest["layers"].as_array().expect("layers");
        let sums = config["rootfs"]["diff_ids"].as_array().expect("sums");
        assert_eq!((layers.len(), sums.len()), (1 + more.len(), 1 + more.len()));
        let files = place.path().join("files");
        for (layer, sum) in layers.iter().zip(sums) {
            let path = blob(layout, layer);
            let whole = place.path().join("layer.tar");
            fs::write(&whole, ran("gzip", &["-dc", text(&path)]).stdout).expect("a layer");
            let found = printed(&ran("sha256sum", &[text(&whole)]));
            assert_eq!(sum.as_str(), Some(&*format!("sha256:{}", found.split(' ').next().expect("a sum"))));
            fs::create_dir_all(&files).expect("a folder");
            ran("tar", &["-xf", text(&whole), "-C", text(&files)]);
        }
        let shown = printed(&ran(text(&files.join("usr/bin/holon")), &["--version"]));
        assert!(shown.starts_with("holon "), "{shown}");
        assert_eq!(files.join("bin/sh").exists(), !more.is_empty());
        let mode =
            |name: &str| fs::metadata(files.join(name)).expect("a folder").permissions().mode() & 0o7777;
        assert_eq!((mode("tmp"), mode("var/lib/holon")), (0o1777, 0o700));
    }
    // A program that needs libraries would not start, however slowly they are listed.
    let slow = place.path().join("ldd");
    fs::write(&slow, "#!/bin/sh\necho 'a => /a'\nsleep 0.2\necho 'b => /b'\n").expect("a program");
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).expect("its mode");
    let found = std::env::var("PATH").expect("a path");
    for path in [found.clone(), format!("{}:{found}", text(place.path()))] {
        let mut asked = Command::new(script("image.sh"));
        let refused = asked.env("PATH", path).args([binary(), folder.as_path()]).output().expect("it starts");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

/// The units, with the program of this test.
fn units(place: &TempDir, folder: &str) -> Vec<PathBuf> {
    let from = root().join("packaging/systemd").join(folder);
    let entries = fs::read_dir(from).expect("units").map(|entry| entry.expect("a unit").path());
    entries
        .map(|unit| {
            let told = fs::read_to_string(&unit).expect("a unit");
            let into = place.path().join(unit.file_name().expect("a name"));
            fs::write(&into, told.replace("/usr/bin/holon", text(binary()))).expect("a unit");
            into
        })
        .collect()
}

#[test]
fn systemd_takes_the_units() {
    if !has("systemd-analyze") {
        eprintln!("systemd-analyze is not there: the units are not looked at");
        return;
    }
    for folder in ["system", "user"] {
        let place = tempfile::tempdir().expect("a folder");
        let units = units(&place, folder);
        let units: Vec<&str> = units.iter().map(|unit| text(unit)).collect();
        let ended = ran("systemd-analyze", &[&["verify", "--man=no"][..], &units].concat());
        let said = String::from_utf8_lossy(&ended.stderr);
        let about: Vec<&str> = said.lines().filter(|line| line.contains("holon.")).collect();
        assert!(about.is_empty(), "{about:?}");
    }
    let service = root().join("packaging/systemd/system/holon.service");
    // From 0 (nothing is possible) to 100 (everything is).
    let exposed = ["security", "--offline=true", "--no-pager", "--threshold=50", text(&service)];
    ran("systemd-analyze", &exposed);
}

#[test]
fn the_list_of_parts_has_what_is_linked_with_its_license() {
    if !has("python3") || !has("cargo") {
        eprintln!("python3 and cargo make the list: one of them is not there");
        return;
    }
    let first = printed(&ran(&script("sbom.sh"), &[]));
    assert_eq!(printed(&ran(&script("sbom.sh"), &[])), first);
    let list: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!((list["bomFormat"].as_str(), list["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
    let parts = list["components"].as_array().expect("parts");
    let part = |name: &str| parts.iter().find(|part| part["name"] == name);
    let sqlite = part("rusqlite").expect("the program links it");
    assert_eq!(sqlite["hashes"][0]["content"].as_str().map(str::len), Some(64));
    assert!(part("holon-core").is_some() && part("insta").is_none(), "tests are in no program");
    for part in parts {
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
    }
}

/// The commands of the steps of a workflow, which its YAML has under `run`.
fn steps(workflow: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        let depth = line.len() - line.trim_start().len();
        let Some(command) = line.trim_start().strip_prefix("run: ") else { continue };
        if command != "|" {
            steps.push(command.to_owned());
            continue;
        }
        let mut script = String::new();
        while let Some(more) = lines.next_if(|next| next.len() - next.trim_start().len() > depth) {
            script.push_str(more.trim());
            script.push('\n');
        }
        steps.push(script);
    }
    steps
}

#[test]
fn the_release_is_made_by_its_workflow() {
    if !has("dpkg-deb") || !has("python3") {
        eprintln!("dpkg-deb and python3 make packages: one of them is not there");
        return;
    }
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("a workflow");
    let steps = steps(&workflow);
    let place = tempfile::tempdir().expect("a folder");
    // A checkout whose tests and build are there already, and a page that takes releases.
    let checkout = place.path().join("checkout");
    fs::create_dir_all(&checkout).expect("a folder");
    for name in ["packaging", "Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "CHANGELOG.md"] {
        std::os::unix::fs::symlink(root().join(name), checkout.join(name)).expect("a link");
    }
    for name in ["core", "shell", "sim", "tests"] {
        std::os::unix::fs::symlink(root().join(name), checkout.join(name)).expect("a link");
    }
    for target in ["release", "x86_64-unknown-linux-musl/release"] {
        let folder = checkout.join("target").join(target);
        fs::create_dir_all(&folder).expect("a folder");
        fs::copy(program(&place), folder.join("holon")).expect("a program");
    }
    let bin = place.path().join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    fs::create_dir_all(checkout.join(".ci")).expect("a folder");
    let real = printed(&ran("sh", &["-c", "command -v cargo"]));
    let cargo =
        format!("#!/bin/sh\ncase \"$1\" in build) echo built ;; *) exec {} \"$@\" ;; esac\n", real.trim());
    let stand_ins = [
        (bin.join("cargo"), cargo.as_str()),
        (bin.join("gh"), "#!/bin/sh\necho \"gh $*\"\n"),
        (bin.join("sudo"), "#!/bin/sh\n"),
        (bin.join("rustup"), "#!/bin/sh\n"),
        (checkout.join(".ci/run"), "#!/bin/sh\necho tested\n"),
    ];
    for (path, script) in stand_ins {
        fs::write(&path, script).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let version = printed(&ran(text(binary()), &["--version"]));
    let tag = format!("v{}", version.split_whitespace().nth(1).expect("a version"));
    let mut said = String::new();
    for step in &steps {
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", step]).current_dir(&checkout).env("PATH", &path);
        let ended = shell.env("GITHUB_REF_NAME", &tag).env("GH_TOKEN", "none").output().expect("a shell");
        assert!(ended.status.success(), "{step}: {}", String::from_utf8_lossy(&ended.stderr));
        said.push_str(&printed(&ended));
    }
    for text in ["tested", "built", &format!("gh release create {tag}"), "dist/sbom.json", "dist/SHA256SUMS"]
    {
        assert!(said.contains(text), "{text}: {said}");
    }
    let sums = fs::read_to_string(checkout.join("dist/SHA256SUMS")).expect("sums");
    assert_eq!(sums.lines().count(), 5, "{sums}");
    assert!(sums.contains("-linux-static.tar.gz") && sums.contains(".oci.tar"), "{sums}");
    let other = Command::new("bash")
        .args(["-e", "-c", &steps[0]])
        .current_dir(&checkout)
        .env("GITHUB_REF_NAME", "v0.0.0")
        .status();
    assert!(!other.expect("a shell").success(), "a tag that is not the version makes no release");
}
