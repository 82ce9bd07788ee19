//! The ledger of a real run, as written by `holon ledger export --recorder`.

use std::time::Instant;

use sim::recorded::{self, Ask, Problem};

pub(crate) fn replay(file: &str, ask: Ask) -> Result<u8, String> {
    let began = Instant::now();
    let opened = std::fs::File::open(file).map_err(|error| format!("{file}: {error}"))?;
    match recorded::replay(&mut std::io::BufReader::new(opened), ask) {
        Ok(report) => {
            let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            println!("pass: {file}, {}", recorded::line(&report, ask, micros));
            Ok(0)
        }
        Err(Problem::Unusable(problem)) => Err(format!("{file}: {problem}")),
        Err(Problem::Fails(failure)) => {
            println!("FAIL {failure}\n{file}, reproduce: cargo run -p sim -- replay {file}");
            Ok(failure.kind.exit_code())
        }
    }
}
