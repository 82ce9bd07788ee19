//! The lines that are printed.

/// A line of the table: what, how much, what is to be reached, and how far it is from that.
pub(crate) fn line(measure: &str, value: f64, unit: &str, target: Option<f64>) {
    let (target, ratio) = match target {
        Some(target) if target > 0.0 => (format!("{target} {unit}"), format!("{:.2}", value / target)),
        Some(target) => (format!("{target} {unit}"), "-".to_owned()),
        None => ("-".to_owned(), "-".to_owned()),
    };
    println!("| {measure:<64} | {:>14} | {target:>10} | {ratio:>6} |", format!("{value:.2} {unit}"));
}

/// What the lines are about.
pub(crate) fn begin(full: bool) {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let sizes = if full { "full sizes" } else { "short sizes; --full for those of the targets" };
    println!("{processors} processors, load {}; {sizes}", load.split(' ').next().unwrap_or("unknown"));
    println!("| {:<64} | {:>14} | {:>10} | {:>6} |", "measure", "value", "target", "ratio");
    println!("| {} | {}: | {}: | {}: |", "-".repeat(64), "-".repeat(13), "-".repeat(9), "-".repeat(5));
}
