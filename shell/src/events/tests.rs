//! Followers of a real ledger, while it is written.

use std::sync::Arc;
use std::time::Duration;

use holon_facts::{AgentId, EventSeq, Record};
use holon_ledger::read::{LedgerSeq, Reader, Stretch};
use holon_ledger::sqlite::testing::{Home, World, id};

use super::{EventsError, Hub, Order, Span, page, page_of_all};

struct Scene {
    home: Home,
    world: World,
    hub: Hub,
    published: EventSeq,
}

impl Scene {
    fn new() -> Self {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        Self { home, world, hub: Hub::default(), published: EventSeq(0) }
    }

    fn reader(&self) -> Arc<Reader> {
        Arc::new(self.home.reader())
    }

    /// A turn that becomes durable, and is told to followers then.
    fn turn(&mut self) {
        self.world.prompt("main", "go on");
        self.publish();
    }

    fn publish(&mut self) {
        for record in records(&self.reader(), &id("main"), self.published) {
            self.published = record.event_seq;
            self.hub.publish(&record);
        }
    }
}

fn records(reader: &Reader, agent: &AgentId, after: EventSeq) -> Vec<Record> {
    let last = reader.last_event(agent).unwrap();
    reader.records(agent, after, last).unwrap().collect::<Result<_, _>>().unwrap()
}

fn whole(reader: &Arc<Reader>) -> Vec<String> {
    let span = Span { after: None, before: None, limit: 10_000, order: Order::Asc };
    page(reader, &id("main"), span, false).unwrap().events.into_iter().map(|event| event.json).collect()
}

#[tokio::test]
async fn followers_see_the_same_wherever_they_begin_and_however_slow_they_are() {
    let mut scene = Scene::new();
    scene.turn();
    let from_the_start = scene.hub.follow(scene.reader(), &id("main"), EventSeq(0), false).unwrap();
    let from_here = scene.hub.follow(scene.reader(), &id("main"), EventSeq(7), false).unwrap();
    let mut slow = scene.hub.follow(scene.reader(), &id("main"), EventSeq(0), false).unwrap();
    let mut seen = Vec::new();
    for event in slow.next().await.unwrap() {
        seen.push(event.json.clone());
    }
    for _ in 0..200 {
        scene.turn();
    }
    let all = whole(&scene.reader());
    assert!(all.len() > 1_100, "more than is kept: {}", all.len());
    for (mut follower, mut seen, skipped) in
        [(from_the_start, Vec::new(), 0), (from_here, Vec::new(), 7), (slow, seen, 0)]
    {
        while seen.len() < all.len() - skipped {
            seen.extend(follower.next().await.unwrap().iter().map(|event| event.json.clone()));
        }
        assert_eq!(seen, all[skipped..]);
        let nothing = tokio::time::timeout(Duration::from_millis(20), follower.next()).await;
        assert!(nothing.is_err(), "nothing more has happened");
    }
    assert_eq!(scene.hub.followed(), 0);
}

#[tokio::test]
async fn what_the_ledger_has_before_it_is_published_comes_once() {
    let mut scene = Scene::new();
    scene.publish();
    scene.world.prompt("main", "durable, but not told yet");
    let mut follower = scene.hub.follow(scene.reader(), &id("main"), EventSeq(1), false).unwrap();
    let mut seen: Vec<u64> = follower.next().await.unwrap().iter().map(|event| event.seq.0).collect();
    scene.publish();
    scene.turn();
    let last = scene.published.0;
    while seen.last() != Some(&last) {
        seen.extend(follower.next().await.unwrap().iter().map(|event| event.seq.0));
    }
    assert_eq!(seen, (2..=last).collect::<Vec<_>>());
    let nobody = scene.hub.follow(scene.reader(), &id("nobody"), EventSeq(0), false);
    assert!(nobody.is_err());
    drop(follower);
    assert_eq!(scene.hub.followed(), 0);
}

#[test]
fn pages_in_both_directions() -> Result<(), EventsError> {
    let mut scene = Scene::new();
    scene.turn();
    scene.turn();
    let reader = scene.reader();
    let all = whole(&reader);
    let last = all.len() as u64;
    let seqs = |after: Option<u64>, before: Option<u64>, limit, order| {
        let span = Span { after: after.map(EventSeq), before: before.map(EventSeq), limit, order };
        page(&reader, &id("main"), span, false)
            .map(|page| (page.events.iter().map(|event| event.seq.0).collect::<Vec<_>>(), page.more))
    };
    assert_eq!(seqs(Some(2), None, 3, Order::Asc)?, (vec![3, 4, 5], true));
    assert_eq!(seqs(None, None, 2, Order::Desc)?, (vec![last, last - 1], true));
    assert_eq!(seqs(None, Some(3), 9, Order::Desc)?, (vec![2, 1], false));
    assert_eq!(seqs(Some(1), Some(4), 9, Order::Asc)?, (vec![2, 3], false));
    assert_eq!(seqs(Some(last), None, 9, Order::Asc)?, (vec![], false));
    assert_eq!(seqs(Some(last + 100), None, 9, Order::Asc)?, (vec![], false));
    let span = Span { after: Some(EventSeq(9)), before: None, limit: 4, order: Order::Asc };
    let middle: Vec<String> =
        page(&reader, &id("main"), span, false)?.events.into_iter().map(|event| event.json).collect();
    assert_eq!(middle, all[9..13], "an envelope does not depend on where a page begins");
    Ok(())
}

#[tokio::test]
async fn followers_of_everybody_share_what_is_new_and_miss_nothing_that_is_old() {
    let mut scene = Scene::new();
    scene.world.create("other");
    let reader = scene.reader();
    let mut slow = scene.hub.follow_all(reader.clone(), LedgerSeq(0), false);
    let mut seen: Vec<_> = slow.next().await.unwrap().iter().map(|event| event.json.clone()).collect();
    let here = slow.cursor();
    let mut fast = scene.hub.follow_all(reader.clone(), here, false);
    let mut new = Vec::new();
    for turn in 0..60 {
        scene.world.prompt("other", "go on");
        scene.turn();
        if turn % 3 == 0 {
            new.extend(fast.next().await.unwrap());
        }
    }
    let last = reader.last_of_all().unwrap();
    while fast.cursor() < last {
        new.extend(fast.next().await.unwrap());
    }
    while slow.cursor() < last {
        seen.extend(slow.next().await.unwrap().iter().map(|event| event.json.clone()));
    }
    let stretch = Stretch { after: LedgerSeq(0), before: None, limit: 10_000, newest: false };
    let whole: Vec<String> =
        page_of_all(&reader, stretch, false).unwrap().events.into_iter().map(|event| event.json).collect();
    assert!(whole.len() > 1_100, "more than is kept: {}", whole.len());
    assert_eq!(seen, whole, "who is slow reads the ledger");
    let kept: Vec<String> = new.iter().map(|event| event.json.clone()).collect();
    assert_eq!(kept, whole[whole.len() - kept.len()..]);
    assert!(new.windows(2).all(|two| two[0].at < two[1].at) && new[0].at > here);
    let mut late = scene.hub.follow_all(reader.clone(), LedgerSeq(last.0 - 1), false);
    let shared = late.next().await.unwrap();
    assert!(Arc::ptr_eq(&shared[0], new.last().unwrap()), "it was written once for all");
    let nothing = tokio::time::timeout(Duration::from_millis(20), late.next()).await;
    assert!(nothing.is_err(), "nothing more has happened");
}

#[tokio::test]
async fn presentations_are_made_only_while_somebody_asks() {
    let mut scene = Scene::new();
    let reader = scene.reader();
    let mut plain = scene.hub.follow(reader.clone(), &id("main"), EventSeq(0), false).unwrap();
    scene.turn();
    let without = plain.next().await.unwrap();
    assert!(without.iter().all(|event| event.presentation.is_none()));
    // Who asks later has them of what was kept without.
    let mut asks = scene.hub.follow(reader.clone(), &id("main"), EventSeq(0), true).unwrap();
    let with = asks.next().await.unwrap();
    assert_eq!(with.last().unwrap().seq, without.last().unwrap().seq);
    assert!(with.iter().all(|event| event.envelope(true).contains(r#","presentation":{"#)));
    assert!(with.iter().zip(&without).all(|(with, without)| with.envelope(false) == without.json));
    scene.turn();
    let (shared, asked) = (plain.next().await.unwrap(), asks.next().await.unwrap());
    assert!(Arc::ptr_eq(&shared[0], &asked[0]), "they are made once for all");
    assert!(asked[0].presentation.is_some());
    drop(asks);
    scene.turn();
    assert!(plain.next().await.unwrap().iter().all(|event| event.presentation.is_none()));
}

#[tokio::test]
async fn presentations_of_everybody_are_made_only_while_somebody_asks() {
    let mut scene = Scene::new();
    let reader = scene.reader();
    let mut plain = scene.hub.follow_all(reader.clone(), LedgerSeq(0), false);
    scene.turn();
    let without = plain.next().await.unwrap();
    assert!(without.iter().all(|event| event.presentation.is_none()));
    let mut asks = scene.hub.follow_all(reader.clone(), LedgerSeq(0), true);
    let mut with = Vec::new();
    while asks.cursor() < plain.cursor() {
        with.extend(asks.next().await.unwrap());
    }
    assert_eq!(with.len(), without.len());
    assert!(with.iter().all(|event| event.envelope(true).contains(r#","presentation":{"#)));
    scene.turn();
    let (shared, asked) = (plain.next().await.unwrap(), asks.next().await.unwrap());
    assert!(Arc::ptr_eq(&shared[0], &asked[0]), "they are made once for all");
    drop(asks);
    scene.turn();
    assert!(plain.next().await.unwrap().iter().all(|event| event.presentation.is_none()));
}

#[tokio::test]
async fn a_watch_has_every_record_since_it_began_until_it_is_too_far_behind() {
    let mut scene = Scene::new();
    scene.turn();
    let mut watch = scene.hub.watch(&id("main"));
    let others = scene.hub.watch(&id("other"));
    let before = scene.published;
    scene.turn();
    let mut seen: Vec<Record> = watch.next().await.unwrap().into();
    scene.turn();
    seen.extend(watch.next().await.unwrap());
    assert_eq!(seen, records(&scene.reader(), &id("main"), before));
    let nothing = tokio::time::timeout(Duration::from_millis(20), watch.next()).await;
    assert!(nothing.is_err(), "there is nothing new");
    for _ in 0..40 {
        scene.turn();
    }
    assert_eq!(watch.next().await, Err(super::Missed));
    assert_eq!(watch.next().await, Err(super::Missed), "it does not go on as if nothing were missing");
    drop((watch, others));
    assert!(scene.hub.watches().is_empty());
}
