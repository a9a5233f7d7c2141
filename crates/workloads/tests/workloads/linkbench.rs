//! What each request of LinkBench asks, and what it takes for right.
use bakeoff_model::any::Known;
use bakeoff_model::run::linkbench::LinkbenchSpec;
use bakeoff_model::sql::Upsert;
use bakeoff_workloads::linkbench::{Linkbench, Thread};
use bakeoff_workloads::prelude::*;

use crate::session::graph::YesGraph;
use crate::session::{NoProbe, now};

/// Of one kind of request.
fn only(kind: &str) -> LinkbenchSpec {
    let share = |name| f64::from(u8::from(name == kind));
    LinkbenchSpec {
        addlink: share("addlink"),
        deletelink: share("deletelink"),
        updatelink: share("updatelink"),
        countlink: share("countlink"),
        getlink: share("getlink"),
        getlinklist: share("getlinklist"),
        getnode: share("getnode"),
        addnode: share("addnode"),
        updatenode: share("updatenode"),
        deletenode: share("deletenode"),
        getlinklist_history: 100.0,
        ..LinkbenchSpec::default()
    }
}

struct User {
    linkbench: Linkbench,
    thread: Thread,
    session: Known<YesGraph>,
}

impl User {
    fn new(spec: &LinkbenchSpec, session: YesGraph) -> Self {
        let linkbench = Linkbench::new(spec, 1, ClientSpec::default(), Some(1)).unwrap();
        let id = ThreadId::FIRST;
        let thread = Workload::thread(&linkbench, &(), id);
        let mut session = Known::new(session);
        now(linkbench.attach(session.any())).unwrap();
        session.asked = Some(vec![]);
        Self {
            linkbench,
            thread,
            session,
        }
    }

    /// Asks the next request: its name, the answer, and the first two words of each statement.
    fn ask(&mut self) -> (String, Answer<'_>, Vec<String>) {
        let Self {
            linkbench,
            thread,
            session,
        } = self;
        let operation = Workload::next(linkbench, &(), thread);
        let name = Workload::operations(linkbench)[operation].name.clone();
        session.asked = Some(vec![]);
        let answer = now(linkbench.execute(&(), thread, session.any(), &mut NoProbe)).unwrap();
        let outcome = match answer {
            Answer::Right => Outcome::Ok,
            Answer::Wrong(_) => Outcome::Wrong,
        };
        let ended = Ended::at_once(outcome, false);
        Workload::settle(linkbench, &(), thread, ended, &mut NoProbe);
        let words = |text: String| text.split(' ').take(3).collect::<Vec<_>>().join(" ");
        let asked = session.asked.take().unwrap().into_iter().map(words).collect();
        (name, answer, asked)
    }

    fn links_added(&self) -> u64 {
        let evidence = Workload::evidence(&self.linkbench);
        serde_json::to_value(evidence).unwrap()["links_added"]["rows"]
            .as_u64()
            .unwrap()
    }
}

/// Two attempts, the first of which nobody answered, and what is then known: rows and unknown.
fn retried(kind: &str, last: Outcome) -> (u64, u64) {
    let mut session = YesGraph::new(Upsert::OnDuplicateKey);
    session.stored = 1;
    let mut user = User::new(&only(kind), session);
    let User {
        linkbench,
        thread,
        session,
    } = &mut user;
    Workload::next(linkbench, &(), thread);
    for _ in 0..2 {
        now(linkbench.execute(&(), thread, session.any(), &mut NoProbe)).unwrap();
    }
    let ended = Ended {
        perhaps_applied: 1,
        ..Ended::at_once(last, false)
    };
    Workload::settle(linkbench, &(), thread, ended, &mut NoProbe);
    let evidence = serde_json::to_value(Workload::evidence(&user.linkbench)).unwrap();
    let told = ["links_added", "nodes_added", "nodes_deleted"].map(|what| &evidence[what]);
    let sum = |what: &str| told.iter().map(|told| told[what].as_u64().unwrap()).sum();
    (sum("rows"), sum("unknown"))
}

#[test]
fn what_a_retried_attempt_may_have_done_is_unknown() {
    for kind in ["addlink", "addnode", "deletenode"] {
        assert_eq!(retried(kind, Outcome::Ok), (1, 1), "{kind}");
        let failed = Outcome::Fail(FailClass::Conflict);
        assert_eq!(retried(kind, failed), (0, 1), "{kind}");
        assert_eq!(retried(kind, Outcome::Unknown), (0, 2), "{kind}");
    }
}

const LINK: &str = "INSERT INTO linktable";
const COUNT: &str = "INSERT INTO counttable";
const LOCK: &str = "SELECT visibility FROM";
const UPDATE: &str = "UPDATE linktable SET";

#[test]
fn an_existing_link_is_written_again_and_counted_if_it_was_hidden() {
    use Upsert::{OnConflict, OnDuplicateKey};
    for (upsert, stored, visibility, between, added) in [
        (OnDuplicateKey, 1, None, vec![LINK, COUNT], 1),
        (OnDuplicateKey, 0, None, vec![LINK, UPDATE], 0),
        (OnDuplicateKey, 2, None, vec![LINK, COUNT, UPDATE], 0),
        (OnConflict, 1, None, vec![LINK, COUNT], 1),
        (OnConflict, 0, Some(1), vec![LINK, LOCK, UPDATE], 0),
        (OnConflict, 0, Some(0), vec![LINK, LOCK, COUNT, UPDATE], 0),
    ] {
        for kind in ["addlink", "updatelink"] {
            let mut session = YesGraph::new(upsert);
            (session.stored, session.visibility) = (stored, visibility);
            let mut user = User::new(&only(kind), session);
            let (name, answer, asked) = user.ask();
            assert_eq!((&*name, answer), (kind, Answer::Right));
            assert_eq!(
                asked,
                [&["BEGIN"], &*between, &["COMMIT"]].concat(),
                "{upsert:?} {stored}"
            );
            assert_eq!(user.links_added(), added);
        }
    }
}

#[test]
fn only_a_visible_link_is_hidden_and_counted_out() {
    for (visibility, between) in [
        (Some(1), vec![LOCK, UPDATE, COUNT]),
        (Some(0), vec![LOCK]),
        (None, vec![LOCK]),
    ] {
        let mut session = YesGraph::new(Upsert::OnConflict);
        session.visibility = visibility;
        let mut user = User::new(&only("deletelink"), session);
        let (_, answer, asked) = user.ask();
        assert_eq!(answer, Answer::Right);
        assert_eq!(asked, [&["BEGIN"], &*between, &["COMMIT"]].concat());
    }
}

#[test]
fn what_is_neither_stored_nor_there_is_wrong() {
    let mut session = YesGraph::new(Upsert::OnConflict);
    (session.stored, session.visibility) = (0, None);
    let mut user = User::new(&only("addlink"), session);
    assert_eq!(user.ask().1, Answer::Wrong("neither stored nor there"));
}

#[test]
fn requests_that_need_no_transaction_are_one_statement() {
    for (kind, statement) in [
        ("countlink", "SELECT count FROM"),
        ("getlink", "SELECT id1, id2,"),
        ("getlinklist", "SELECT id1, id2,"),
        ("getnode", "SELECT id, type,"),
        ("addnode", "INSERT INTO nodetable"),
        ("updatenode", "UPDATE nodetable SET"),
        ("deletenode", "DELETE FROM nodetable"),
    ] {
        let mut user = User::new(&only(kind), YesGraph::new(Upsert::OnConflict));
        let (name, answer, asked) = user.ask();
        assert_eq!((&*name, answer), (kind, Answer::Right));
        assert_eq!(asked, [statement]);
    }
}

#[test]
fn a_list_that_was_cut_off_goes_on_until_its_end() {
    let spec = LinkbenchSpec {
        range_limit: 4,
        ..only("getlinklist")
    };
    let mut user = User::new(&spec, YesGraph::new(Upsert::OnConflict));
    let mut names: Vec<String> = (0..3).map(|_| user.ask().0).collect();
    user.session.listed = 3;
    names.extend((0..2).map(|_| user.ask().0));
    let (list, history) = ("getlinklist", "getlinklist_history");
    assert_eq!(names, [list, history, history, history, list]);
}

#[test]
fn more_links_than_the_limit_are_a_wrong_answer() {
    let spec = LinkbenchSpec {
        range_limit: 3,
        ..only("getlinklist")
    };
    let mut user = User::new(&spec, YesGraph::new(Upsert::OnConflict));
    assert_eq!(user.ask().1, Answer::Wrong("more links than asked for"));
}
