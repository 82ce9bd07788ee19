//! Turns under a limit that several hosts share.

use holon_core::Input;
use holon_core::turns::TurnsUse;

use super::World;
use super::agenda::Happening;
use crate::turns::Lent;

impl World<'_> {
    /// Reports how many turns the host uses. The other host wants some, too.
    pub(super) fn share_turns(&mut self, used: TurnsUse) {
        let site = self.site("turns", 0, "others want");
        let wants = [0, 0, 0, 1, 1, 3][self.choices.below(site, 6) as usize];
        let lent = self.outside.turns.report(used);
        self.turns_are_lent(lent);
        if wants > 0 && !self.quiet {
            let lent = self.outside.turns.other_moves(0, wants);
            self.turns_are_lent(lent);
        }
        self.plan_move();
    }

    /// Ends some turns of the other host, in the quiet phase all.
    pub(super) fn other_moves(&mut self) {
        self.outside.turns.moves = false;
        let ends = if self.quiet { u64::MAX } else { 1 };
        let lent = self.outside.turns.other_moves(ends, 0);
        self.turns_are_lent(lent);
        self.plan_move();
    }

    fn turns_are_lent(&mut self, lent: Option<Lent>) {
        // A process that was started without shares its limit with nobody.
        let shares = self.scenario.config_of(self.life.number).lent_turns.is_some();
        self.checks.of_others = if shares { self.outside.turns.of_other() } else { 0 };
        let Some(Lent { turns, fewer }) = lent else { return };
        if fewer {
            self.injector.saw("turns are called back");
        }
        let site = self.site("turns", 0, "heard after");
        let after = u64::from(self.choices.below(site, 400_000));
        let input = Box::new(Input::TurnsLent { turns });
        self.plan(self.at + after, 0, Happening::Looked { input, life: self.life.number });
    }

    fn plan_move(&mut self) {
        if self.outside.turns.moves || !self.outside.turns.is_busy() {
            return;
        }
        self.outside.turns.moves = true;
        let site = self.site("turns", 0, "another move after");
        let after = u64::from(self.choices.below(site, 30_000_000));
        self.plan(self.at + after, 0, Happening::OtherMoves);
    }
}
