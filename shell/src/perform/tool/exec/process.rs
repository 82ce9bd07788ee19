//! One process group from its start to its last member's end.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::Capture;

/// How long pipes are read after the command itself has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// What became of a command.
pub(super) struct Run {
    pub(super) end: End,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    /// Something still held the pipes when reading stopped.
    pub(super) held_open: bool,
}

pub(super) enum End {
    /// The status; 128 and the signal's number when a signal ended it.
    Exited(i32),
    TimedOut,
}

/// A child that leads a process group; dropping it kills the whole group.
struct Group {
    child: Child,
    /// The group's id, as long as the leader is not reaped: until then no other group can have it.
    id: Option<Pid>,
}

/// Runs a command for at most `window`, then kills what is left of its group.
pub(super) async fn run(mut command: Command, window: Duration) -> io::Result<Run> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.kill_on_drop(true).spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut group = Group { child, id };
    let (mut stdout, mut stderr) = (Capture::default(), Capture::default());
    let (ended, drained) = {
        let mut drain = pin!(async { tokio::join!(pump(out, &mut stdout), pump(err, &mut stderr)) });
        let mut drained = false;
        let ended = tokio::time::timeout(window, async {
            tokio::select! {
                _ = &mut drain => drained = true,
                ended = group.ended() => return ended,
            }
            group.ended().await
        })
        .await;
        if let Ok(ended) = ended {
            ended?;
            drained = drained || tokio::time::timeout(DRAIN, &mut drain).await.is_ok();
            (true, drained)
        } else {
            // Dead members close their pipes; what they wrote before is still read.
            group.kill();
            drained = drained || tokio::time::timeout(DRAIN, &mut drain).await.is_ok();
            (false, drained)
        }
    };
    group.kill();
    let status = group.reap().await?;
    let end = if ended { End::Exited(code(status)) } else { End::TimedOut };
    Ok(Run { end, stdout, stderr, held_open: ended && !drained })
}

impl Group {
    /// Waits until the leader has ended, and leaves it unreaped where the system can do that, so that its
    /// id stays its own.
    #[cfg(target_os = "linux")]
    async fn ended(&mut self) -> io::Result<()> {
        use rustix::process::{PidfdFlags, pidfd_open};
        use tokio::io::Interest;
        use tokio::io::unix::AsyncFd;
        if let Some(id) = self.id
            && let Ok(handle) = pidfd_open(id, PidfdFlags::NONBLOCK)
        {
            #[expect(
                deprecated,
                reason = "its successor is unsafe; an OwnedFd keeps its descriptor open as it needs"
            )]
            let handle = AsyncFd::with_interest(handle, Interest::READABLE)?;
            return handle.readable().await.map(drop);
        }
        self.child.wait().await.map(drop)
    }

    #[cfg(not(target_os = "linux"))]
    async fn ended(&mut self) -> io::Result<()> {
        self.child.wait().await.map(drop)
    }

    /// A group that is gone already is as good as killed.
    fn kill(&self) {
        if let Some(id) = self.id {
            kill_process_group(id, Signal::KILL).ok();
        }
    }

    async fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.id = None;
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads a stream to its end; a stream that breaks has ended.
async fn pump(stream: Option<impl AsyncRead + Unpin>, into: &mut Capture) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0_u8; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        into.push(&buffer[..count]);
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
