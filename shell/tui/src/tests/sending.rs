//! Whom prompts go to, in which order, and what becomes of those that are not taken.

use super::*;
use crate::entry::{Entry, Target};
use crate::message::{Control, Prompt};
use crate::model::{Link, Recipient};
use crate::output::Piece;
use crate::overlay::Kind;

fn ready() -> Model {
    let mut model = model(80, 24);
    update(&mut model, loaded(vec![row(1, Voice::Message, "begin")], false));
    model
}

fn enter(model: &mut Model, text: &str) -> Vec<Request> {
    typed(model, text);
    press(model, KeyCode::Enter)
}

fn prompts(requests: &[Request]) -> Vec<&Prompt> {
    requests
        .iter()
        .filter_map(|request| if let Request::Send(prompt) = request { Some(prompt) } else { None })
        .collect()
}

fn texts(requests: &[Request]) -> Vec<&str> {
    prompts(requests).into_iter().map(|prompt| prompt.text.as_str()).collect()
}

fn not_sent(model: &mut Model, key: &str, again: bool) -> Vec<Request> {
    let (key, problem) = (key.to_owned(), "the ledger is locked".to_owned());
    update(model, Msg::Answer(Answer::NotSent { key, again, problem }))
}

fn sent(model: &mut Model, key: &str) -> Vec<Request> {
    update(model, Msg::Answer(Answer::Sent(key.to_owned())))
}

fn control(model: &mut Model, c: char) -> Vec<Request> {
    update(model, Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL), Millis(0)))
}

#[test]
fn a_prompt_that_is_deferred_shows_why_and_is_sent_again_under_its_key() {
    let mut model = ready();
    let first = enter(&mut model, "hello");
    let key = prompts(&first)[0].key.clone();
    for deferred in 1..=3 {
        let again = not_sent(&mut model, &key, true);
        let [prompt] = prompts(&again)[..] else { panic!("{again:?}") };
        assert_eq!((prompt.key.as_str(), prompt.deferred), (key.as_str(), deferred));
        let shown = screen(&model);
        assert!(
            shown.contains("not sent yet: the ledger is locked") && shown.contains("(sending)"),
            "{shown}"
        );
    }
    sent(&mut model, &key);
    assert!(model.sending.is_empty() && model.notice.is_none());
}

#[test]
fn prompts_of_an_outage_are_sent_one_after_the_other_in_their_order() {
    let mut model = ready();
    update(&mut model, Msg::Connected(FIRST, false));
    assert_eq!(texts(&enter(&mut model, "one")), ["one"]);
    for text in ["two", "three"] {
        assert!(prompts(&enter(&mut model, text)).is_empty());
    }
    assert_eq!(texts(&not_sent(&mut model, "test-1", true)), ["one"]);
    assert_eq!(model.link, Link::Lost);
    assert!(model.notice.is_none(), "the first line shows what is wrong");
    // Whatever the stream does, each of them is on its way once.
    assert!(prompts(&update(&mut model, Msg::Connected(FIRST, true))).is_empty());
    assert!(prompts(&update(&mut model, loaded(vec![row(1, Voice::Message, "begin")], false))).is_empty());
    assert_eq!(texts(&sent(&mut model, "test-1")), ["two"]);
    assert!(prompts(&sent(&mut model, "test-1")).is_empty());
    assert_eq!(texts(&not_sent(&mut model, "test-2", false)), ["three"]);
    assert!(prompts(&sent(&mut model, "test-3")).is_empty() && model.sending.is_empty());
}

#[test]
fn prompts_to_another_agent_do_not_wait_for_those_of_the_first() {
    let mut model = ready();
    enter(&mut model, "one");
    enter(&mut model, "/agent other");
    assert_eq!(texts(&enter(&mut model, "two")), ["two"]);
    let shown = screen(&model);
    assert!(shown.contains("one (sending to main)") && shown.contains("two (sending)"), "{shown}");
}

/// An ask of another agent, chosen to be answered.
fn asked(model: &mut Model) -> Recipient {
    let (other, brief) = (AgentId::new("other").unwrap(), "brief_3".parse().unwrap());
    press(model, KeyCode::F(8));
    let entries = Ok(vec![Entry::of("may I?", Target::Ask(other.clone(), brief))]);
    update(model, Msg::Answer(Answer::Opened(agent(), Kind::Inbox, entries)));
    press(model, KeyCode::Enter);
    Recipient::Ask(other, brief)
}

#[test]
fn a_prompt_that_is_refused_comes_back_to_the_composer() {
    let mut model = ready();
    enter(&mut model, "hello");
    not_sent(&mut model, "test-1", false);
    assert_eq!((model.composer.text(), &model.recipient), ("hello", &Recipient::Agent));
    assert!(screen(&model).contains("not sent: the ledger is locked"));
}

#[test]
fn an_answer_that_is_refused_comes_back_for_whom_it_was() {
    let mut model = ready();
    let recipient = asked(&mut model);
    enter(&mut model, "yes");
    assert_eq!(model.recipient, Recipient::Agent);
    not_sent(&mut model, "test-1", false);
    assert_eq!((model.composer.text(), &model.recipient), ("yes", &recipient));
    let again = press(&mut model, KeyCode::Enter);
    let [prompt] = prompts(&again)[..] else { panic!("{again:?}") };
    assert_eq!(Recipient::Ask(prompt.agent.clone(), prompt.answers.unwrap()), recipient);
    // Where something else was begun, that stays, and goes to whom it is for.
    typed(&mut model, "draft");
    not_sent(&mut model, "test-2", false);
    assert_eq!((model.composer.text(), &model.recipient), ("draft", &Recipient::Agent));
    assert!(screen(&model).contains("not sent to other/brief_3"), "{}", screen(&model));
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "yes");
}

#[test]
fn a_prompt_to_another_agent_that_is_refused_is_only_called_back() {
    let mut model = ready();
    enter(&mut model, "hello");
    enter(&mut model, "/agent other");
    not_sent(&mut model, "test-1", false);
    assert!(model.composer.is_blank() && model.sending.is_empty());
    assert!(screen(&model).contains("not sent to main"), "{}", screen(&model));
    press(&mut model, KeyCode::Up);
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "hello");
}

#[test]
fn a_task_is_fed_only_while_its_output_is_open_and_it_runs() {
    let mut model = ready();
    let (first, second) = ("task_1".parse().unwrap(), "task_2".parse().unwrap());
    update(&mut model, Msg::Answer(Answer::Began(agent(), first)));
    control(&mut model, 't');
    assert_eq!(model.recipient, Recipient::Task(first));
    let written = Control::WriteTask(first, "word\n".to_owned());
    assert_eq!(enter(&mut model, "word"), [Request::Control(agent(), written)]);
    // Another output takes the place of the first one.
    update(&mut model, Msg::Answer(Answer::Began(agent(), second)));
    assert_eq!(model.recipient, Recipient::Agent);
    control(&mut model, 't');
    typed(&mut model, "half a li");
    let serial = model.followed().unwrap();
    update(&mut model, Msg::Output(serial, Piece::End("task_2 is completed".to_owned())));
    assert_eq!(model.recipient, Recipient::Agent);
    // What was meant for the task is not sent to the agent with the next Enter.
    assert!(press(&mut model, KeyCode::Enter).is_empty());
    press(&mut model, KeyCode::Esc);
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "half a li");
}

#[test]
fn a_prompt_that_can_not_be_sent_is_taken_back_with_up_and_those_behind_it_go_on() {
    let mut model = ready();
    enter(&mut model, "one");
    enter(&mut model, "two");
    // Nothing is wrong with the first one yet, so Up calls back what was sent, and both stay on their way.
    assert!(press(&mut model, KeyCode::Up).is_empty());
    assert_eq!((model.composer.text(), model.sending.len()), ("two", 2));
    model.composer.clear();
    not_sent(&mut model, "test-1", true);
    let shown = screen(&model);
    assert!(shown.contains("not sent yet: the ledger is locked; Up takes the last one back"), "{shown}");
    assert!(press(&mut model, KeyCode::Up).is_empty(), "it was not handed over");
    assert_eq!((model.composer.text(), model.sending.len()), ("two", 1));
    // A second Up goes on from there.
    press(&mut model, KeyCode::Up);
    assert_eq!((model.composer.text(), model.sending.len()), ("one", 1));
    control(&mut model, 'c');
    assert_eq!(press(&mut model, KeyCode::Up), [Request::Withdraw("test-1".to_owned())]);
    assert_eq!((model.composer.text(), model.sending.len()), ("one", 0));
    assert!(screen(&model).contains("taken back"), "{}", screen(&model));
    // Whatever comes of it later, it is not sent again.
    assert!(prompts(&not_sent(&mut model, "test-1", true)).is_empty() && model.sending.is_empty());
    assert_eq!(texts(&press(&mut model, KeyCode::Enter)), ["one"]);
}

#[test]
fn an_answer_that_can_not_be_sent_is_taken_back_for_whom_it_was() {
    let mut model = ready();
    let recipient = asked(&mut model);
    enter(&mut model, "yes");
    not_sent(&mut model, "test-1", true);
    press(&mut model, KeyCode::Up);
    assert_eq!((model.composer.text(), &model.recipient), ("yes", &recipient));
    // A prompt to an agent that is not shown would go to the one that is.
    let mut model = ready();
    enter(&mut model, "one");
    enter(&mut model, "/agent other");
    not_sent(&mut model, "test-1", true);
    assert!(!screen(&model).contains("takes the last one back"), "{}", screen(&model));
    press(&mut model, KeyCode::Up);
    assert_eq!(model.sending.len(), 1);
}

#[test]
fn prompts_that_wait_for_one_agent_leave_another_one_free() {
    let mut model = ready();
    for number in 0..64 {
        enter(&mut model, &format!("prompt {number}"));
    }
    assert!(prompts(&enter(&mut model, "one more")).is_empty());
    assert!(screen(&model).contains("64 prompts to main wait"), "{}", screen(&model));
    assert_eq!((model.composer.text(), model.sending.len()), ("one more", 64));
    model.composer.clear();
    enter(&mut model, "/agent other");
    assert_eq!(texts(&enter(&mut model, "hello")), ["hello"]);
}

#[test]
fn a_prompt_that_is_deferred_leaves_other_notices_alone() {
    let mut model = ready();
    enter(&mut model, "hello");
    update(&mut model, Msg::Answer(Answer::Done(Err("there is no timer".to_owned()))));
    not_sent(&mut model, "test-1", true);
    let shown = screen(&model);
    assert!(shown.contains("there is no timer") && shown.contains("not sent yet"), "{shown}");
}

#[test]
fn leaving_waits_for_prompts_that_are_not_sent() {
    let mut model = ready();
    for text in ["one", "two"] {
        enter(&mut model, text);
    }
    assert!(enter(&mut model, "/quit").is_empty() && !model.session.leaving);
    assert!(screen(&model).contains("2 prompts are not sent yet"), "{}", screen(&model));
    assert_eq!(texts(&sent(&mut model, "test-1")), ["two"]);
    let mut other = model.clone();
    assert!(sent(&mut model, "test-2").contains(&Request::Leave) && model.session.leaving);
    // Again leaves at once.
    assert_eq!(enter(&mut other.clone(), "/quit"), [Request::Leave]);
    assert_eq!(control(&mut other.clone(), 'c'), [Request::Leave]);
    // Esc and a prompt that was begun stay; one that is refused comes back.
    let mut stays = other.clone();
    press(&mut stays, KeyCode::Esc);
    assert!(sent(&mut stays, "test-2").is_empty() && !stays.session.leaving);
    let mut begun = other.clone();
    typed(&mut begun, "more");
    assert!(sent(&mut begun, "test-2").is_empty() && !begun.session.leaving);
    assert!(not_sent(&mut other, "test-2", false).is_empty());
    assert_eq!((other.composer.text(), other.session.leaving), ("two", false));
}

#[test]
fn a_second_interrupt_waits_for_prompts_too() {
    let mut model = ready();
    enter(&mut model, "one");
    assert!(control(&mut model, 'c').is_empty() && control(&mut model, 'c').is_empty());
    assert!(screen(&model).contains("1 prompt is not sent yet"), "{}", screen(&model));
    assert_eq!(control(&mut model, 'c'), [Request::Leave]);
}

#[test]
fn a_draft_stays_when_a_task_takes_no_input() {
    let mut model = ready();
    let task = "task_1".parse().unwrap();
    let listed = |model: &mut Model, runs| {
        press(model, KeyCode::F(3));
        let entries = Ok(vec![Entry::of("sleep", Target::Task { task, runs })]);
        update(model, Msg::Answer(Answer::Opened(agent(), Kind::Tasks, entries)));
    };
    typed(&mut model, "a draft");
    listed(&mut model, false);
    assert!(control(&mut model, 't').is_empty());
    assert_eq!((model.composer.text(), &model.recipient), ("a draft", &Recipient::Agent));
    assert!(screen(&model).contains("does not run"), "{}", screen(&model));
    // It ends just then: what was not changed since is for the agent.
    listed(&mut model, true);
    control(&mut model, 't');
    assert_eq!(model.recipient, Recipient::Task(task));
    let mut changed = model.clone();
    let end = |model: &mut Model| {
        let serial = model.followed().unwrap();
        update(model, Msg::Output(serial, Piece::End("task_1 is completed".to_owned())));
        assert_eq!(model.recipient, Recipient::Agent);
    };
    end(&mut model);
    assert_eq!(model.composer.text(), "a draft");
    typed(&mut changed, " more");
    end(&mut changed);
    assert!(changed.composer.is_blank());
    assert!(screen(&changed).contains("Esc, then Up calls it back"), "{}", screen(&changed));
}
