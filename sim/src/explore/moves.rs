//! The moves that are possible, and the move that follows once faults are over.

use holon_core::agent::OpenOp;
use holon_core::host::Deadline;
use holon_facts::decision::DeadlineReason;
use holon_facts::event::operation::OpKind;
use holon_facts::lifecycle::Status;
use holon_facts::{AgentId, OpId};

use super::command::Working;
use super::situation::{Setting, Situation};
use super::{Ending, Move, Pot};
use crate::scenario::Action;

/// The number of requests that have no agent.
const NOBODY: u8 = 0;

impl Situation {
    /// Every move that is possible here, in a fixed order.
    pub(super) fn moves(&self, setting: Setting<'_>) -> Vec<Move> {
        if self.host.is_none() {
            return self.meanwhile(setting);
        }
        let mut moves = Vec::new();
        let pending = self.disk.pending.len();
        if pending > 0 {
            moves.push(Move::Sync);
        }
        if self.left.bounds.crashes > 0 {
            moves.extend((0..=pending).filter_map(|kept| u8::try_from(kept).ok()).map(Move::Crash));
        }
        if pending > 0 && pending >= usize::from(setting.world.bounds.ahead) {
            return moves;
        }
        if self.outside.leaving && pending == 0 {
            moves.push(Move::Leave);
        }
        self.asks(setting, &mut moves);
        self.ends(setting, &mut moves);
        if self.due {
            moves.push(Move::Ring);
        } else if let Some(pot) = self.passing()
            && self.has(pot)
        {
            moves.push(Move::Pass);
        }
        moves.extend(self.drain().filter(|step| matches!(step, Move::Dismiss(_))));
        if self.left.bounds.parks > 0 {
            let idle = self.agents().filter(|(number, _)| self.idles(*number));
            moves.extend(idle.map(|(number, _)| Move::Park(number)));
        }
        moves
    }

    /// The next move once faults are over: the disk syncs, performers succeed, operators start stopped agents, clients
    /// repeat requests that were cut off, deadlines pass. None at rest, or when nothing more will happen.
    pub(super) fn drain(&self) -> Option<Move> {
        if self.host.is_none() {
            return Some(Move::Boot);
        }
        if !self.disk.pending.is_empty() {
            return Some(Move::Sync);
        }
        if self.outside.leaving {
            return Some(Move::Leave);
        }
        if self.due {
            return Some(Move::Ring);
        }
        if let Some(((agent, _), working)) = self.outside.at_work.iter().next() {
            let ending = if working.asked { Ending::Stopped } else { Ending::Plain };
            return Some(Move::End(*agent, 0, ending));
        }
        if let Some((number, _)) = self.agents().find(|(number, _)| self.startable(*number)) {
            return Some(Move::Start(number));
        }
        if let Some(request) = self.outside.cut_off.iter().next() {
            return Some(Move::Again(*request));
        }
        if !self.rests() && self.passing() == Some(Pot::Free) {
            return Some(Move::Pass);
        }
        let lives = self.agents().find(|(number, _)| self.dismissal(*number).is_some());
        lives.map(|(number, _)| Move::Dismiss(number))
    }

    /// How an operator ends the first child of an agent that was not asked to end yet.
    pub(super) fn dismissal(&self, number: u8) -> Option<Action> {
        let mut children = self.agent(number)?.tasks.children();
        let (task, _) = children.find(|(task, _)| task.stop.is_none())?;
        Some(Action::StopTask { task: task.id.0, force: false })
    }

    fn asks(&self, setting: Setting<'_>, moves: &mut Vec<Move>) {
        for (at, offer) in (0..).zip(&setting.world.offers) {
            if self.left.offers[usize::from(at)] > 0 && (offer.agent == NOBODY || self.useful(at, setting)) {
                moves.push(Move::Ask(at));
            }
        }
        moves.extend(self.outside.cut_off.iter().map(|request| Move::Again(*request)));
        moves.extend(
            self.agents()
                .filter(|(number, _)| self.startable(*number))
                .map(|(number, _)| Move::Start(number)),
        );
    }

    /// Whether a request may lead to a new state: stopping a stopped agent or aborting nothing records nothing.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn useful(&self, at: u8, setting: Setting<'_>) -> bool {
        let Some(offer) = setting.world.offers.get(usize::from(at)) else { return false };
        match &offer.action {
            Action::Stop => !self.stopped(offer.agent),
            Action::Abort { .. } => self.agent(offer.agent).is_some_and(|agent| agent.run.is_some()),
            _ => true,
        }
    }

    fn ends(&self, setting: Setting<'_>, moves: &mut Vec<Move>) {
        for ((agent, op), Working { kind, asked, .. }) in &self.outside.at_work {
            let nth = self.nth(*agent, *op);
            for (ending, pot) in &setting.world.endings {
                if ending.fits(*kind) && self.has(*pot) {
                    moves.push(Move::End(*agent, nth, *ending));
                }
            }
            if *asked {
                moves.push(Move::End(*agent, nth, Ending::Stopped));
            }
        }
        if self.left.bounds.strays > 0 {
            let strays = self.agents().filter(|(_, agent)| super::act::over(agent).is_some());
            moves.extend(strays.map(|(number, _)| Move::Stray(number)));
        }
    }

    pub(super) fn has(&self, pot: Pot) -> bool {
        let bounds = &self.left.bounds;
        match pot {
            Pot::Free => true,
            Pot::Calls => bounds.calls > 0,
            Pot::Faults => bounds.faults > 0,
            Pot::Silences => bounds.silences > 0,
            Pot::Crashes => bounds.crashes > 0,
            Pot::Strays => bounds.strays > 0,
            Pot::Parks => bounds.parks > 0,
        }
    }

    /// The bound that passing time uses: none, unless a performer is silent meanwhile. The disk is faster than any
    /// deadline.
    pub(super) fn passing(&self) -> Option<Pot> {
        if !self.disk.pending.is_empty() || self.due {
            return None;
        }
        let (own, absent) = (self.host.as_ref()?.next_deadline(), self.absent_wait());
        let Some(Deadline { reason, agent, wait, .. }) = own else { return absent.map(|_| Pot::Free) };
        if absent.is_some_and(|absent| absent < wait) {
            return Some(Pot::Free);
        }
        let silent = match reason {
            DeadlineReason::OperationTimeout if self.lets_go(&agent) => false,
            DeadlineReason::OperationTimeout | DeadlineReason::TurnLimit | DeadlineReason::StopTask => {
                !self.outside.at_work.is_empty()
            }
            DeadlineReason::Backoff
            | DeadlineReason::Hold
            | DeadlineReason::Timer
            | DeadlineReason::Work
            | DeadlineReason::Sleep
            | DeadlineReason::Recheck
            | DeadlineReason::SelfDeferral
            | DeadlineReason::UnattendedTurns => false,
        };
        Some(if silent { Pot::Silences } else { Pot::Free })
    }

    /// Whether a run stops waiting for its command or task when their time is over.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn lets_go(&self, agent: &AgentId) -> bool {
        let Some(agent) = self.checks.agents().get(agent) else { return false };
        let of_run: Vec<&OpenOp> = agent.ops.values().filter(|open| agent.is_of_run(open)).collect();
        let other = agent.ops.values().any(|open| match open.kind {
            OpKind::WriteInput | OpKind::PromoteCommand => true,
            OpKind::PrepareCommand => open.run_id.is_none(),
            _ => false,
        });
        let yields = |open: &OpenOp| match open.kind {
            OpKind::AwaitTask => true,
            OpKind::RunCommand => open.command.as_ref().is_some_and(|spec| spec.yield_time_ms.is_some()),
            _ => false,
        };
        !other && of_run.into_iter().any(yields)
    }

    /// The position of an operation among those in flight for an agent.
    pub(super) fn nth(&self, agent: u8, op: OpId) -> u8 {
        let before = self.outside.at_work.range((agent, OpId(0))..(agent, op)).count();
        u8::try_from(before).unwrap_or(u8::MAX)
    }

    fn stopped(&self, number: u8) -> bool {
        self.agent(number).is_some_and(|agent| agent.status == Status::Stopped)
    }

    /// Whether an agent is stopped and may be started: a stopped child has ended.
    fn startable(&self, number: u8) -> bool {
        self.stopped(number) && self.agent(number).is_some_and(|agent| agent.spec.supervisor.is_none())
    }

    fn idles(&self, number: u8) -> bool {
        self.agent(number).is_some_and(|agent| {
            agent.run.is_none()
                && agent.inbox.totals().0 == 0
                && agent.hold.is_none()
                && agent.ops.is_empty()
                && !self.checks.parked.contains_key(&agent.id)
        })
    }
}
