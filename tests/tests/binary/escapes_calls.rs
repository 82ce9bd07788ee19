//! What a confined command asks of the kernel itself, of other processes and of sockets: what can't be had is refused, what
//! can be is listed among the gaps, and what builds programs works.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use end_to_end::confined::{Scene, text};
use serde_json::Value;

/// Of no use for building and testing programs. With arguments that mean nothing, so none does harm where it is not refused.
const REFUSED: [(&str, libc::c_long); 23] = [
    ("add_key", libc::SYS_add_key),
    ("request_key", libc::SYS_request_key),
    ("keyctl", libc::SYS_keyctl),
    ("bpf", libc::SYS_bpf),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("init_module", libc::SYS_init_module),
    ("finit_module", libc::SYS_finit_module),
    ("delete_module", libc::SYS_delete_module),
    ("kexec_load", libc::SYS_kexec_load),
    ("reboot", libc::SYS_reboot),
    ("settimeofday", libc::SYS_settimeofday),
    ("clock_settime", libc::SYS_clock_settime),
    ("adjtimex", libc::SYS_adjtimex),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("sethostname", libc::SYS_sethostname),
    ("setdomainname", libc::SYS_setdomainname),
    ("swapon", libc::SYS_swapon),
    ("swapoff", libc::SYS_swapoff),
    ("quotactl", libc::SYS_quotactl),
    ("acct", libc::SYS_acct),
    ("perf_event_open", libc::SYS_perf_event_open),
];

/// A program for perl: each call with its error's number.
fn asks(calls: &[(&str, libc::c_long)], arguments: &str) -> String {
    let one = |(name, call): &(&str, libc::c_long)| {
        format!("print \"{name} \", (syscall({call}, {arguments}) < 0 ? 0 + $! : \"done\"), \"\\n\";")
    };
    format!("perl -e '{}'", calls.iter().map(one).collect::<String>())
}

#[test]
fn no_command_asks_the_kernel_for_what_no_build_needs() {
    let scene = Scene::new("on");
    let said = scene.runs(&asks(&REFUSED, "-1, -1, -1, -1, -1"));
    for (name, _) in REFUSED {
        assert!(said.contains(&format!("{name} {}", libc::EACCES)), "{name}: {said}");
    }
    // What a process measures of itself is its own affair, and so is a ring where there are sockets anyway.
    let own = [("perf", libc::SYS_perf_event_open), ("ring", libc::SYS_io_uring_setup)];
    let said = scene.runs(&asks(&own, "-1, 0, -1, -1, 0"));
    for (name, _) in own {
        assert!(said.contains(name) && !said.contains(&format!("{name} {}", libc::EACCES)), "{name}: {said}");
    }
}

/// Tries everything that shows one process what is in another one, or takes something of it.
const LOOKS: &str = r#"
my $pid = 0 + shift;
my $buffer = "x" x 64;
my $vector = pack("JJ", unpack("J", pack("P", $buffer)), 64);
my $process = syscall(434, $pid, 0);
sub reads { open(my $file, "<", $_[0]) or return -1; defined(read($file, my $text, 9)) ? 0 : -1 }
my %looks = (
    read => sub { syscall(310, $pid, $vector, 1, $vector, 1, 0) },
    write => sub { syscall(311, $pid, $vector, 1, $vector, 1, 0) },
    trace => sub { syscall(101, 0x4206, $pid, 0, 0) },
    compare => sub { syscall(312, $pid, $$, 1, 0, 0) },
    descriptor => sub { syscall(438, $process, 1, 0) },
    environment => sub { reads("/proc/$pid/environ") },
    memory => sub { open(my $file, "<", "/proc/$pid/mem") ? 0 : -1 },
    maps => sub { reads("/proc/$pid/maps") },
    files => sub { defined(readlink("/proc/$pid/fd/1")) ? 0 : -1 },
    signal => sub { kill(0, $pid) ? 0 : -1 },
    pidfd => sub { syscall(424, $process, 0, 0, 0) },
);
print "process-", ($process < 0 ? "missing" : "there"), "\n";
print "$_-", ($looks{$_}->() < 0 ? "held" : "open"), "\n" for sort keys %looks;
"#;

#[cfg(target_arch = "x86_64")]
#[test]
fn no_command_looks_into_the_runtime_or_a_supervisor() {
    let scene = Scene::new("on");
    std::fs::write(scene.root.join("looks.pl"), LOOKS).expect("a script");
    for victim in ["$runtime", "$PPID"] {
        let said = scene.runs(&format!("perl looks.pl {victim}"));
        assert!(!said.contains("-open"), "{victim}: {said}");
        assert!(said.matches("-held").count() >= 11, "{victim}: {said}");
    }
    // Into what it has started itself it may look.
    let said = scene.runs("sleep 60 & perl looks.pl $!; kill $!");
    for look in ["maps", "files", "environment", "signal", "pidfd"] {
        assert!(said.contains(&format!("{look}-open")), "{look}: {said}");
    }
}

/// Connects to what is named: a path, a name without a file, or a family of sockets.
const CONNECTS: &str = r#"
use Socket;
my ($kind, $name) = @ARGV;
my ($family, $protocol) = $kind eq "family" ? split(",", $name) : (AF_UNIX, 0);
my $type = $kind eq "family" && $family != AF_INET ? SOCK_RAW : SOCK_STREAM;
socket(my $socket, $family, $type, $protocol) or print("held-socket\n"), exit;
print("made-socket\n"), exit if $kind eq "family";
my $address = $kind eq "abstract" ? pack("Sa*", AF_UNIX, "\0$name") : sockaddr_un($name);
print(connect($socket, $address) ? "reached-it\n" : "held-connect\n");
"#;

fn gaps(scene: &Scene) -> String {
    let shown = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json();
    assert_ne!(shown["policy"]["gaps"], Value::Null, "{shown}");
    shown["policy"]["gaps"].to_string()
}

/// A server of this machine, for example one that starts containers, does what its client can't.
#[test]
fn sockets_of_this_machine_are_out_of_reach_or_among_the_gaps() {
    for network in ["on", "internet", "off"] {
        let scene = Scene::new(network);
        std::fs::write(scene.root.join("connects.pl"), CONNECTS).expect("a script");
        let path = scene.outside.join("server");
        let _named = UnixListener::bind(&path).expect("a socket");
        let name = format!("holon-test-{network}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let _nameless = UnixListener::bind_addr(&address).expect("a socket");
        let connects = |kind: &str, name: &str| scene.runs(&format!("perl connects.pl {kind} '{name}'"));
        let reached = connects("path", text(&path)).contains("reached-it");
        let gaps = gaps(&scene);
        let listed = gaps.contains("servers on this machine can be asked");
        assert_eq!(reached, listed, "{network}: the report is not what commands can do: {gaps}");
        assert!(network == "on" || !reached, "{network}");
        let said = connects("abstract", &name);
        assert!(!said.contains("reached-it") || gaps.contains("signals"), "{network}: {said}");
        // The list of this machine's addresses is for whoever looks up names; what else the kernel answers is not.
        for (family, with) in [
            ((libc::AF_INET, 0), ["on", "internet"].as_slice()),
            ((libc::AF_NETLINK, libc::NETLINK_ROUTE), &["on", "internet"]),
            ((libc::AF_NETLINK, libc::NETLINK_KOBJECT_UEVENT), &["on"]),
            ((libc::AF_UNIX, 0), &["on"]),
        ] {
            let said = connects("family", &format!("{},{}", family.0, family.1));
            assert_eq!(said.contains("made-socket"), with.contains(&network), "{network} {family:?}: {said}");
        }
        let shown = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json();
        let expected = match network {
            "on" => "not_enforced",
            "internet" => "partly_enforced",
            _ => "enforced",
        };
        assert_eq!(shown["policy"]["network"], expected, "{shown}");
        let about = scene.daemon.metadata().expect("it runs");
        let address = about["http_addr"].as_str().expect("an address").replace(':', "/");
        let said = scene.runs(&format!("exec 3<>/dev/tcp/{address} && echo reached-$((6 * 7)); exec 3>&-"));
        assert_eq!(said.contains("reached-42"), network != "off", "{network}: {said}");
    }
}

/// Programs that build and test others, each with something that it does in earnest.
const TOOLS: [(&str, &str); 8] = [
    (
        "git",
        "git init -q r && cd r && echo x > f && git add f && git -c user.name=x -c user.email=x@x commit -qm x && \
         git worktree add -q ../w && git gc -q",
    ),
    ("make", "printf 'all: a b\\na b:\\n\\t@sleep 0.1; echo $@ > $@\\n' > Makefile && make -sj2 && cat a b"),
    ("gcc", "echo 'int main(void) { return 0; }' > m.c && gcc -o m m.c && ./m"),
    (
        "cargo",
        "mkdir -p c/src && cd c && printf '[package]\\nname = \"c\"\\nedition = \"2021\"\\n[workspace]\\n' > Cargo.toml && \
         printf '#[test]\\nfn it_works() { assert_eq!(1 + 1, 2) }\\n' > src/lib.rs && \
         CARGO_HOME=$PWD/home cargo test -q --offline --jobs 2",
    ),
    (
        "python3",
        "python3 -c 'import multiprocessing as m, subprocess as s, sqlite3, tempfile; \
         p = m.get_context(\"fork\").Pool(2); assert p.map(abs, [-1]) == [1]; \
         s.run([\"true\"], check=True); sqlite3.connect(\"d\").execute(\"create table t (x)\")'",
    ),
    (
        "node",
        "node -e 'const { Worker } = require(\"worker_threads\"); require(\"child_process\").execSync(\"true\"); \
         const c = require(\"child_process\").fork(\"-e\", [], { execArgv: [\"-e\", \"process.send(1)\"] }); \
         c.on(\"message\", () => new Worker(\"process.exit(0)\", { eval: true }).on(\"exit\", () => process.exit(0)))'",
    ),
    (
        "npm",
        "echo '{\"name\":\"x\",\"version\":\"1.0.0\"}' > package.json && npm --cache $PWD/../npm-cache pack --offline",
    ),
    ("strace", "strace -f -o t sh -c true && grep -q execve t"),
];

#[test]
fn what_builds_programs_works_whatever_the_network_is() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().expect("a compiler");
    let rust = String::from_utf8(sysroot.stdout).expect("a path").trim().to_owned();
    for network in ["on", "internet", "off"] {
        let scene = Scene::new(network);
        for (tool, cmd) in TOOLS {
            let cmd = format!(
                "PATH={rust}/bin:$PATH; command -v {tool} > found || echo absent-$((6 * 7)); mkdir {tool} && cd {tool} && \
                 ({cmd}) && echo built-$((6 * 7))"
            );
            let said = scene.runs(&cmd);
            assert!(said.contains("built-42") || said.contains("absent-42"), "{network}, {tool}: {said}");
        }
    }
}
