//! V10 over a whole graph: from each state one move leads on once faults are over. So the states form a forest whose
//! roots are at rest, or there is a cycle.

/// Marks a state at rest.
pub(super) const RESTS: u32 = u32::MAX;
/// Marks a state whose next one is not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX - 1;

/// The most moves from any state to rest, or a state that never rests.
pub(super) fn longest(next: &[u32]) -> Result<u32, u32> {
    const UNSEEN: u32 = u32::MAX;
    const ON_THE_WAY: u32 = u32::MAX - 1;
    let mut moves = vec![UNSEEN; next.len()];
    let mut way = Vec::new();
    let mut most = 0;
    for start in 0..next.len() {
        let mut at = start;
        let mut known = loop {
            match moves[at] {
                ON_THE_WAY => return Err(number(at)),
                UNSEEN if next[at] == RESTS => {
                    moves[at] = 0;
                    break 0;
                }
                UNSEEN if next[at] == UNKNOWN => return Err(number(at)),
                UNSEEN => {
                    moves[at] = ON_THE_WAY;
                    way.push(at);
                    at = next[at] as usize;
                }
                known => break known,
            }
        };
        while let Some(before) = way.pop() {
            known += 1;
            moves[before] = known;
        }
        most = most.max(known);
    }
    Ok(most)
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::{RESTS, UNKNOWN, longest};

    #[test]
    fn the_longest_way_to_rest_counts_and_a_circle_is_found() {
        assert_eq!(longest(&[1, 2, RESTS, 2, 3]), Ok(2));
        assert_eq!(longest(&[1, 2, 3, RESTS]), Ok(3));
        assert!(matches!(longest(&[RESTS, 2, 3, 1]), Err(1..=3)));
        assert_eq!(longest(&[RESTS, UNKNOWN]), Err(1));
    }
}
