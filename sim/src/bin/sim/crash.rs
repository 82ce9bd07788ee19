//! A crash at each boundary of some small scenarios.

use sim::crash;
use sim::verdict::guarded;
use sim::world::Options;

use crate::progress::{Bound, Progress};

pub(crate) fn everywhere() -> u8 {
    let scripts = crash::scripts();
    // Running each once without a crash tells how many there will be.
    let plain = Options { no_replay: true, ..Options::default() };
    let runs = scripts.iter().map(|(_, scenario)| 1 + guarded(scenario, plain).boundaries).sum();
    let progress = Progress::new("runs", Bound::Count(runs));
    let (mut code, mut runs, mut failures) = (0, 0_u64, 0);
    for (name, scenario) in scripts {
        let boundaries = crash::everywhere(&scenario, |boundary, report| {
            runs += 1;
            if let Some(failure) = &report.failure {
                failures += 1;
                progress.clear();
                println!("FAIL {failure} — {name}, crash at boundary {boundary}");
                code = failure.kind.exit_code();
            }
            progress.at(runs, failures);
        });
        progress.clear();
        println!("{name}: {boundaries} boundaries");
    }
    println!("{runs} runs");
    code
}
