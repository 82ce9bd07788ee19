//! Supervisors, spoken to as a runtime does: input, stops, logs that are read while the command runs.

mod supervised;

use std::time::Duration;

use holon_supervise::protocol::{INPUT_BYTES, Input, Reply, Request};
use holon_supervise::record::End;
use holon_supervise::{log_files, output_log};
use holon_text::{Secrets, Texts};
use supervised::{Supervised, wait_for};

fn given(id: u64, text: &str) -> Request {
    Request::Input { id, text: text.to_owned() }
}

#[test]
fn a_pipe_takes_what_several_connections_bring() {
    let mut supervised =
        Supervised::start("read a; echo 1 $a; read b; echo 2 $b; cat", |item| item.input = Input::Pipe);
    let mut second = supervised.connect();
    assert_eq!(supervised.runtime.input(7, "first\n"), (7, 6, None));
    supervised.until_log_has("1 first");
    assert_eq!(second.input(8, "second\nthird"), (8, 12, None));
    assert_eq!(second.input(9, ""), (9, 0, None));
    supervised.until_log_has("2 second\nthird");
    supervised.runtime.send(&Request::Stop { force: false });
    let end = supervised.ended();
    assert_eq!((end.end, end.stdout.head.as_str()), (End::Stopped, "1 first\n2 second\nthird"));
}

#[test]
fn a_terminal_takes_input_and_its_end() {
    let mut supervised = Supervised::start("cat; echo over", |item| {
        (item.input, item.tty) = (Input::Pipe, true);
    });
    assert_eq!(supervised.runtime.input(1, "typed\n"), (1, 6, None));
    supervised.until_log_has("typed\r\ntyped\r\n");
    assert_eq!(supervised.runtime.input(2, "\u{4}"), (2, 1, None));
    let end = supervised.ended();
    assert_eq!((end.end, end.stdout.head.as_str()), (End::Exited { status: 0 }, "typed\ntyped\nover\n"));
}

#[test]
fn input_that_can_not_be_written_is_told_in_words_and_ends_nothing() {
    for tty in [false, true] {
        let mut supervised = Supervised::start("touch begun; sleep 61", |item| item.tty = tty);
        let (_, written, problem) = supervised.runtime.input(1, "text");
        assert_eq!((written, problem.as_deref()), (0, Some("the command does not accept input")));
        supervised.runtime.send(&Request::Stop { force: true });
        assert_eq!(supervised.ended().end, End::Stopped);
    }
    let mut supervised =
        Supervised::start("exec <&-; touch begun; until [ -e over ]; do sleep 0.05; done", |item| {
            item.input = Input::Pipe;
        });
    supervised.until_begun();
    let (_, written, problem) = supervised.runtime.input(2, "text");
    assert_eq!((written, problem.as_deref()), (0, Some("the command has closed its input")));
    let (_, written, problem) = supervised.runtime.input(3, &"x".repeat(INPUT_BYTES + 1));
    assert!(written == 0 && problem.unwrap().contains("at most 65536 bytes"));
    std::fs::write(supervised.work().join("over"), "").unwrap();
    assert_eq!(supervised.ended().end, End::Exited { status: 0 });
}

/// Neither a pipe nor a terminal that nobody reads holds anything up; what went in is told.
#[test]
fn who_does_not_read_is_given_up() {
    for tty in [false, true] {
        let mut supervised = Supervised::start("stty raw 2>/dev/null; touch begun; exec sleep 61", |item| {
            (item.input, item.tty) = (Input::Pipe, tty);
        });
        supervised.until_begun();
        for id in 0..3 {
            supervised.runtime.send(&given(id, &"x".repeat(INPUT_BYTES)));
        }
        assert_eq!(supervised.connect().remaining(), None, "it answers all the same");
        let mut whole = 0;
        for id in 0..3 {
            let (told, written, problem) = supervised.runtime.told();
            assert_eq!(told, id);
            assert!(written <= INPUT_BYTES as u64);
            match problem {
                None => whole += 1,
                Some(problem) => assert_eq!(problem, "the command did not read it in time"),
            }
        }
        assert!(whole <= 1, "tty {tty}: {whole}");
        supervised.runtime.send(&Request::Stop { force: true });
        assert_eq!(supervised.ended().end, End::Stopped);
    }
}

#[test]
fn without_a_window_nobody_knows_the_end_until_it_is_asked_for() {
    let mut supervised = Supervised::start("trap '' TERM; touch begun; while :; do sleep 0.1; done", |_| {});
    supervised.until_begun();
    assert_eq!(supervised.runtime.remaining(), None);
    supervised.runtime.send(&Request::Stop { force: false });
    assert!(supervised.runtime.remaining().unwrap() < 60_000);
    assert_eq!(supervised.ended().end, End::Stopped);
}

/// A command that says nothing and leaves its children behind, as servers and watchers do.
#[test]
fn whoever_comes_up_and_ends_leaves_no_zombie_while_the_command_is_silent() {
    let cmd = "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.05 &); done; touch begun; exec sleep 61";
    let mut supervised = Supervised::start(cmd, |_| {});
    supervised.until_begun();
    std::thread::sleep(Duration::from_millis(200));
    wait_for(|| supervised.zombies() == 0);
    supervised.runtime.send(&Request::Stop { force: true });
    assert_eq!(supervised.ended().end, End::Stopped);
}

/// Those who ignore the request, those who moved away, those who were left by their parents, those who multiply.
const HARD_TO_STOP: &[&str] = &[
    "trap '' TERM; touch begun; while :; do sleep 0.1; done",
    "setsid sleep 61 & setsid sh -c 'trap \"\" TERM; touch begun; while :; do sleep 0.1; done'",
    "(setsid sh -c '(setsid sleep 61 &) ; setsid sleep 61 & sleep 61' &) ; touch begun; sleep 61",
    "trap '' TERM; (setsid setsid sh -c 'trap \"\" TERM HUP; sleep 61; sleep 61' &); touch begun; sleep 61; sleep 61",
    "trap '' TERM; fork() { while :; do (trap '' TERM; sleep 0.05; sleep 61) & sleep 0.02; done; }; fork & fork & touch begun; wait",
    "trap 'while :; do setsid sleep 61 & sleep 0.02; done' TERM; touch begun; while :; do sleep 0.05; done",
    "touch begun; kill -STOP $$; while :; do sleep 0.05; done",
];

#[test]
fn a_stop_ends_everybody_after_the_grace() {
    for (at, cmd) in HARD_TO_STOP.iter().enumerate() {
        for tty in [false, true] {
            let mut supervised = Supervised::start(cmd, |item| item.tty = tty);
            supervised.until_begun();
            supervised.runtime.send(&Request::Stop { force: false });
            let end = supervised.ended();
            assert_eq!(end.end, End::Stopped, "{at} {tty}");
            assert!(!end.remains.unkillable, "{at} {tty}");
            assert!(supervised.strays().is_empty(), "{at} {tty}: {:?}", supervised.strays());
        }
    }
}

/// In any phase: the grace of these is longer than anybody would wait.
#[test]
fn a_stop_with_force_waits_for_nothing() {
    for tty in [false, true] {
        for softly_first in [false, true] {
            // Who ignores nothing may be gone before it is asked a second time.
            for cmd in HARD_TO_STOP.iter().filter(|cmd| !softly_first || cmd.contains("trap")) {
                let mut supervised = Supervised::start_with(cmd, 3_600_000, |item| item.tty = tty);
                supervised.until_begun();
                if softly_first {
                    supervised.runtime.send(&Request::Stop { force: false });
                    assert!(supervised.runtime.remaining().is_some());
                }
                supervised.connect().send(&Request::Stop { force: true });
                let end = supervised.ended();
                assert_eq!(end.end, End::Stopped);
                assert!(!end.remains.unkillable && supervised.strays().is_empty(), "{cmd}");
            }
        }
    }
}

/// Everybody is asked, also those in other sessions whose parents don't end; and only once.
#[test]
fn everybody_is_asked_once_to_end() {
    let moved = "setsid sh -c 'trap \"echo asked >> said\" TERM; touch begun; while :; do sleep 0.05; done'";
    let cmd = format!("trap 'echo main >> said' TERM; {moved} & while :; do sleep 0.05; done");
    let mut supervised = Supervised::start_with(&cmd, 3_600_000, |_| {});
    supervised.until_begun();
    supervised.runtime.send(&Request::Stop { force: false });
    let said = supervised.work().join("said");
    let lines = || std::fs::read_to_string(&said).unwrap_or_default().lines().count();
    wait_for(|| lines() >= 2);
    supervised.runtime.send(&Request::Stop { force: false });
    std::thread::sleep(Duration::from_millis(400));
    let mut text: Vec<String> = std::fs::read_to_string(&said).unwrap().lines().map(String::from).collect();
    text.sort();
    assert_eq!(text, ["asked", "main"]);
    supervised.runtime.send(&Request::Stop { force: true });
    assert_eq!(supervised.ended().end, End::Stopped);
}

/// What cleans up after the request is not asked to end for that.
#[test]
fn a_command_that_is_asked_to_end_may_clean_up() {
    let cmd = "trap 'sleep 0.4; echo clean; exit 0' TERM; touch begun; while :; do sleep 0.05; done";
    let mut supervised = Supervised::start_with(cmd, 20_000, |_| {});
    supervised.until_begun();
    supervised.runtime.send(&Request::Stop { force: false });
    let end = supervised.ended();
    assert_eq!((end.end, end.stdout.head.as_str()), (End::Stopped, "clean\n"));
}

/// The supervisor sleeps while both come, so that it hears of them at the same time.
#[test]
fn a_stop_of_a_command_that_has_ended_leaves_its_status() {
    for force in [false, true] {
        let mut supervised =
            Supervised::start("touch begun; until [ -e over ]; do sleep 0.02; done; exit 7", |_| {});
        supervised.until_begun();
        let main = supervised.command();
        supervised.signal("-STOP");
        std::fs::write(supervised.work().join("over"), "").unwrap();
        wait_for(|| holon_platform::process::stat(main).is_some_and(|stat| stat.ended));
        supervised.runtime.send(&Request::Stop { force });
        supervised.signal("-CONT");
        assert_eq!(supervised.ended().end, End::Exited { status: 7 });

        let mut supervised = Supervised::start("setsid sleep 61 & touch begun; exit 7", |_| {});
        supervised.until_begun();
        let main = supervised.command();
        wait_for(|| holon_platform::process::stat(main).is_none_or(|stat| stat.ended));
        supervised.runtime.send(&Request::Stop { force });
        let end = supervised.ended();
        assert_eq!(end.end, End::Exited { status: 7 });
        assert!(supervised.strays().is_empty());
    }
}

/// Each look costs as much as a line: a supervisor looks much less often than lines are printed.
#[test]
fn many_small_pieces_of_output_are_read_together() {
    let prints = "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done";
    let looks = "sed -n 's/^voluntary_ctxt_switches:[^0-9]*/looks /p' /proc/$PPID/status";
    let mut supervised = Supervised::start(&format!("{prints}; {looks}"), |_| {});
    let end = supervised.ended();
    let (_, looks) = end.stdout.tail.rsplit_once("looks ").expect("the last line");
    let looks: u32 = looks.trim().parse().expect("a number");
    assert!((1..1_500).contains(&looks), "{looks} looks for 5,000 lines");
}

/// A pipe is made wider while it is written to: what comes before, meanwhile and after is one text.
#[test]
fn small_and_large_pieces_of_output_are_complete_and_in_order() {
    let cmd = "echo before; seq 200000; sleep 0.02; echo between; sleep 0.02; seq 200000 >&2; echo after >&2";
    let mut supervised = Supervised::start(cmd, |item| item.log_bytes = 8 << 20);
    let end = supervised.ended();
    let numbers: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let printed = format!("before\n{numbers}between\n{numbers}after\n");
    assert!(std::fs::read_to_string(supervised.log()).unwrap() == printed, "another text is in the log");
    assert_eq!(end.stdout.bytes + end.stderr.bytes, printed.len() as u64);
    assert!(end.stdout.tail.ends_with("\nbetween\n") && end.stderr.tail.ends_with("\nafter\n"));
}

#[test]
fn output_is_read_while_it_comes_and_the_newest_is_found() {
    let cmd = "head -c 300000 /dev/zero | tr '\\0' x; echo newest; touch begun; until [ -e over ]; do sleep 0.05; done";
    let mut supervised = Supervised::start(cmd, |item| item.log_bytes = 64 << 10);
    supervised.until_begun();
    supervised.until_log_has("newest");
    let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
    let shown = output_log::preview(&texts, supervised.log(), 200, false).unwrap();
    assert!(shown.text.starts_with("xxx") && shown.text.ends_with("newest\n"), "{}", shown.text);
    assert_eq!(shown.bytes, 300_007);
    let chunk = output_log::from(&texts, supervised.log(), 100_000, 1_000, false).unwrap();
    assert!(chunk.lost_bytes > 100_000 && chunk.text.len() == 1_000, "{chunk:?}");
    std::fs::write(supervised.work().join("over"), "").unwrap();
    let end = supervised.ended();
    assert_eq!((end.end, end.log_problem, end.stdout.bytes), (End::Exited { status: 0 }, None, 300_007));
    assert_eq!(output_log::preview(&texts, supervised.log(), 200, true).unwrap(), shown);
    assert!(log_files::pieces(supervised.log()).iter().all(|piece| !piece.exists()));
    assert!(std::fs::metadata(supervised.log()).unwrap().len() < 70_000);
}

/// Input that comes too late for the command is answered before the supervisor ends.
#[test]
fn nobody_waits_for_an_answer_beyond_the_end() {
    let mut supervised = Supervised::start("touch begun; sleep 61", |item| item.input = Input::Pipe);
    supervised.until_begun();
    supervised.signal("-STOP");
    let mut second = supervised.connect();
    supervised.runtime.send(&Request::Stop { force: true });
    second.send(&given(1, "text\n"));
    second.send(&Request::Stop { force: true });
    supervised.signal("-CONT");
    let mut told = Vec::new();
    while let Some(tell) = second.receive() {
        told.push(tell);
    }
    assert!(matches!(&told[..], [Reply::Input { id: 1, .. }, Reply::Ended]), "{told:?}");
    assert_eq!(supervised.ended().end, End::Stopped);
}

/// Its folder goes when nobody is left who would read the record.
#[test]
fn a_supervisor_without_a_folder_does_not_stay() {
    let mut supervised = Supervised::start("touch begun; sleep 61", |_| {});
    supervised.until_begun();
    std::fs::remove_dir_all(supervised.work().with_file_name("supervisor")).unwrap();
    supervised.runtime.send(&Request::Stop { force: true });
    while supervised.runtime.receive().is_some() {}
    wait_for(|| supervised.is_gone());
    assert!(supervised.strays().is_empty());
}
