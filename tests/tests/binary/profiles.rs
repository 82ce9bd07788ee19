//! Execution profiles: what is asked for, what a machine enforces of it, and what is said of that.

use std::os::unix::net::UnixListener;

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use end_to_end::machine::{Missing, without};
use end_to_end::obedient::{asks, git, obedient};
use end_to_end::provider::{Provider, command};
use serde_json::json;

fn confined(network: &str) -> Holon {
    let holon = Holon::new().with("HOLON_MODEL", "scripted/hello");
    holon.with("HOLON_EXECUTION_PROFILE", "confined").with("HOLON_EXECUTION_NETWORK", network)
}

#[test]
fn nothing_starts_on_a_machine_that_does_not_do_what_is_asked_for() {
    let holon = confined("on");
    for arguments in [&["run", "hello"][..], &["serve"], &["daemon", "start"]] {
        let ended = without(Missing::Landlock, || holon.run(arguments));
        ended.refused(
            2,
            &["execution.profile", "no Landlock", "holon config set execution.profile host_local"],
        );
    }
    assert!(!holon.home().join("runs").exists(), "nothing was begun");
    let doctor = without(Missing::Landlock, || holon.run(&["config", "doctor"]));
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("problem  execution:"), "{doctor:?}");
    let ended = without(Missing::Filters, || confined("off").run(&["run", "hello"]));
    ended.refused(2, &["execution.network", "no seccomp filters", "holon config set execution.network on"]);
    // What is not asked for need not be there.
    for (missing, network, profile) in
        [(Missing::Filters, "on", "confined"), (Missing::Landlock, "on", "host_local")]
    {
        let holon = confined(network).with("HOLON_EXECUTION_PROFILE", profile);
        let ended = without(missing, || holon.run(&["run", "hello"]));
        assert_eq!(ended.code, Some(0), "{missing:?}: {ended:?}");
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_both_names() {
    let holon = confined("off").with("HOLON_EXECUTION_PROFILE", "host_local");
    holon
        .run(&["run", "hello"])
        .refused(2, &["execution.network (\"off\")", "execution.profile (\"host_local\")"]);
    let odd = confined("on").with("HOLON_EXECUTION_PROFILE", "sandboxed");
    odd.run(&["run", "hello"])
        .refused(2, &["HOLON_EXECUTION_PROFILE", "one of host_local, confined", "sandboxed"]);
    let holon = confined("on");
    let set = holon.run(&["config", "set", "execution.writable", "cache"]);
    set.refused(2, &["execution.writable", "folders that start with /"]);
    assert_eq!(holon.run(&["config", "set", "execution.writable", "/srv/a,/srv/b"]).code, Some(0));
    let got = holon.run(&["config", "get", "execution.writable", "--json"]).json();
    assert_eq!(got["value"], json!(["/srv/a", "/srv/b"]), "{got}");
}

#[test]
fn the_model_and_the_operator_are_told_the_same() {
    for (profile, line) in [
        ("host_local", "Execution profile: host_local (paths, network and processes are not_enforced)"),
        ("confined", "Execution profile: confined (writes partly_enforced, network enforced,"),
    ] {
        let provider = Provider::answering(obedient);
        let network = if profile == "confined" { "off" } else { "on" };
        let holon = Holon::new().with("HOLON_EXECUTION_PROFILE", profile);
        let daemon = Daemon::asking(holon.with("HOLON_EXECUTION_NETWORK", network), &provider);
        daemon.start();
        asks(&daemon, "main", &[command("true")]);
        let request = provider.requests()[0].to_string();
        assert!(request.contains(line), "{request}");
        let list = daemon.ok(&["workspace", "list", "--json"]).json();
        assert_eq!(list["profile"], profile);
        let writable = list["policy"]["writable"].as_array().into_iter().flatten();
        let mut writable = writable.map(|folder| folder.as_str().expect("a path"));
        assert!(writable.all(|folder| request.contains(folder)), "{list}");
        // The homes of tests are below a temporary folder.
        let own = list["policy"]["gaps"].to_string().contains("this runtime's own files");
        assert_eq!(own, profile == "confined", "{list}");
        let doctor = daemon.0.run(&["config", "doctor"]);
        assert!(doctor.stdout.contains(&format!("execution: {profile}")), "{doctor:?}");
    }
}

/// A server that starts whatever it is asked to gets around every boundary: where one can be asked, the operator hears of it.
#[test]
fn the_doctor_warns_of_servers_that_do_what_commands_can_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bus");
    let _bus = UnixListener::bind(&path).expect("a socket");
    let said = |network: &str| {
        let holon = confined(network).with("XDG_RUNTIME_DIR", folder.path().to_str().expect("letters"));
        let doctor = holon.run(&["config", "doctor"]);
        let gap = doctor.stdout.contains("servers on this machine can be asked");
        (doctor.stdout.contains(path.to_str().expect("letters")), gap, doctor.stdout)
    };
    let (warned, gap, doctor) = said("on");
    assert_eq!(warned, gap, "{doctor}");
    assert!(!warned || doctor.contains("holon config set execution.network internet"), "{doctor}");
    let (warned, gap, doctor) = said("internet");
    assert!(!warned && !gap && doctor.contains("network partly_enforced"), "{doctor}");
}

/// One prompt in a folder of one's own, without a daemon.
#[test]
fn a_run_is_confined_as_well() {
    let provider = Provider::answering(obedient);
    let holon = Holon::apart().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    let holon = holon.with("HOLON_EXECUTION_PROFILE", "confined");
    // A run works in the repository around its folder, which may be this one.
    git(&holon.work(), &["init", "-q"]);
    let calls = [command("echo x > inside; echo x > ../outside || echo held-$((6 * 7))")];
    let ended = holon.run(&["run", &end_to_end::obedient::told(&calls)]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("held-42"), "{ended:?}");
    assert!(holon.work().join("inside").exists() && !holon.folder().join("outside").exists());
}
