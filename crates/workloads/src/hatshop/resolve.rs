//! The Hat Shop before a run: sizes, and what follows from the options.
use super::event::Kind as Event;
use super::list::Rules;
use super::load::loaded;
use super::replay::check;
use super::schema::{has_index, table_names};
use super::shop::Shop;
use super::{GENERATOR_VERSION, Hatshop, needs};
use crate::prelude::*;
use crate::resolve::{Kind, NoneBeside, Read, after_conflicts, describe, read, shape, usual, words};
use crate::trouble::{check_client, refuse};
use bakeoff_model::resolve::DriverRequest;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use serde_json::Value;
use std::cell::RefCell;

pub const KIND: Kind = Kind {
    kind: "hatshop",
    generator_version: GENERATOR_VERSION,
    form: FORM,
    summary: "Hat Shop: a list of events of orders and their lines, carried out by many at once (Cassandra against MariaDB, 2017)",
    preset: "layout",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

type Options = NoneBeside<HatshopSpec>;

const RETRIES: u32 = 10;
const BACKOFF_S: f64 = 0.001;

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let mut read = read::<Options>(request)?;
    validate(&read.spec, ClientSpec::default())?;
    if read.spec.layout == HatshopLayout::Documents && read.said.contains_key("secondary_index") {
        let what =
            "it is an index of the table of lines, and lines nested in an order's document have no table";
        return Err(refuse("secondary_index", what, "leave `secondary_index` out"));
    }
    read.spec.orders_seed.get_or_insert(request.seed);
    if let Some(file) = &read.spec.events_file {
        let (events, sha256) = check(file, &Shop::new(&read.spec, request.seed), &read.spec)?;
        // If the file changes after this, the run's start reports it.
        (read.spec.events, read.spec.events_sha256) = (events, Some(sha256));
    }
    let spec = &read.spec;
    let (loaded_rows, size_estimate_bytes) = loaded(spec, &Shop::new(spec, request.seed));
    let needs = needs(spec);
    let resolved = Resolved {
        label: label(&read),
        loaded_rows,
        size_estimate_bytes,
        tables: table_names(spec),
        operations: with_share(spec).map(|kind| kind.name().into()).collect(),
        writes: with_share(spec).any(|kind| kind != Event::Read),
        users_max: users_max(spec),
        prepares_s: prepares_s(spec),
        retry: after_conflicts(RETRIES, BACKOFF_S),
        // A second run would make the same orders again, and ask for ones that the first has deleted.
        continues_by: None,
        advice: advice(spec, request.driver.as_ref()),
        ..usual(
            &KIND,
            request,
            shape_of(spec),
            &needs,
            WorkloadSpec::Hatshop(spec.clone()),
        )
    };
    Ok((resolved, needs))
}

fn users_max(spec: &HatshopSpec) -> Option<u32> {
    let drawn = spec.events_file.is_none();
    let most = Rules::new(spec).users_max().filter(|_| drawn)?;
    Some(u32::try_from(most).unwrap_or(u32::MAX))
}

/// A file is read and checked, a list that is drawn is made for its hash.
fn prepares_s(spec: &HatshopSpec) -> f64 {
    let event_s = if spec.events_file.is_some() { 4e-6 } else { 1e-6 };
    spec.events as f64 * event_s
}

fn with_share(spec: &HatshopSpec) -> impl Iterator<Item = Event> {
    Event::ALL.into_iter().filter(|kind| kind.share(spec) > 0.0)
}

/// Orders, the layout, and every other option that the plan sets.
fn label(read: &Read<Options>) -> String {
    let spec = &read.spec;
    let layout = match spec.layout {
        HatshopLayout::LineItems => "line_items",
        HatshopLayout::LineItemsByOrder => "line_items_by_order",
        HatshopLayout::Documents => "documents",
    };
    let mut options = vec![format!("{} orders", spec.orders), layout.to_owned()];
    options.extend(spec.events_file.as_ref().map(|file| file.name.clone()));
    options.extend(words(
        &read.said,
        &["orders", "layout", "events_file", "events_sha256"],
    ));
    format!("Hat Shop ({})", options.join(", "))
}

fn advice(spec: &HatshopSpec, driver: Option<&DriverRequest>) -> Vec<String> {
    let mut advice = vec![];
    if !has_index(spec) {
        advice.push(match driver {
            Some(driver) if driver.kind == "cassandra" => {
                "`secondary_index` does nothing on Cassandra: an order keeps the ids of its lines, and they are read by these"
            }
            _ => "without `secondary_index` all lines are read to find those of one order, and there is no foreign key",
        }.to_owned());
    }
    if spec.create == 0.0 && spec.delete > 0.0 && spec.events_file.is_none() {
        let sum: f64 = with_share(spec).map(|kind| kind.share(spec)).sum();
        advice.push(format!(
            "`delete` has a share and `create` has none: after about {:.0} events 1 order is left, which is never deleted, \
             and each deletion drawn then makes an order instead",
            (spec.orders - 1) as f64 * sum / spec.delete
        ));
    }
    advice
}

/// Of the options that shape the tables: how rows are stored, and not what they are.
const FORM: &str = "layout secondary_index";

/// The options that shape the tables and their rows; events do not.
fn shape_of(spec: &HatshopSpec) -> Value {
    shape(
        spec,
        "layout secondary_index orders lines_max products clients orders_seed",
    )
}

fn preview(spec: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Hatshop(spec) = spec else {
        return Ok(vec![]);
    };
    let hatshop = Hatshop::new(spec, seed, ClientSpec::default(), None)?;
    let dealer = RefCell::new(Some(hatshop.dealer()));
    let first = ThreadId::FIRST;
    let mut user = hatshop.user(&dealer, first);
    let mut preview = || {
        hatshop.draw(&dealer, &mut user);
        Previewed {
            operation: user.event.kind.name().into(),
            lines: user.event_in_words(),
        }
    };
    Ok((0..count).map(|_| preview()).collect())
}

// What cannot be run, refused before anything starts.

pub fn validate(spec: &HatshopSpec, client: ClientSpec) -> Result<(), Trouble> {
    check_bounds(spec, "workload")?;
    check_client(client)?;
    if spec.events_sha256.is_some() && spec.events_file.is_none() {
        let hint = "name the file with `events_file`, or leave `events_sha256` out";
        let what = "it is the SHA-256 of a file of events, and no file is named";
        return Err(refuse("events_sha256", what, hint));
    }
    if spec.pipeline && spec.layout == HatshopLayout::Documents {
        let what = "an order that is a document needs one request, so there is nothing to send together";
        return Err(refuse("pipeline", what, "leave `pipeline` out"));
    }
    if Event::ALL.iter().all(|kind| kind.share(spec) == 0.0) {
        let hint = "give one of them a share, read = 1 for instance";
        return Err(refuse("read", "no event has a share", hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::asked;
    use serde_json::json;

    fn hatshop(options: Value) -> Resolved {
        resolve(&asked("hatshop", &options)).unwrap().0
    }

    #[test]
    fn only_what_shapes_the_data_is_of_their_identity() {
        let own = hatshop(json!({}));
        assert_eq!(hatshop(json!({"read": 5, "events": 10})).dataset, own.dataset);
        for other in [
            json!({"layout": "line_items"}),
            json!({"orders": 499}),
            json!({"lines_max": 9}),
            json!({"orders_seed": 2}),
        ] {
            assert_ne!(hatshop(other).dataset, own.dataset);
        }
        assert!((2_800..3_700).contains(&own.loaded_rows), "{}", own.loaded_rows);
    }

    #[test]
    fn a_long_list_is_told_to_take_its_time() {
        assert!(hatshop(json!({})).prepares_s < 1.0);
        assert!(hatshop(json!({"events": 100_000_000})).prepares_s > 60.0);
    }

    #[test]
    fn operations_are_those_that_have_a_share() {
        let found = hatshop(json!({"create": 0, "update": 0, "update_attribute": 0, "delete": 0}));
        assert_eq!((found.operations, found.writes), (vec!["read".to_owned()], false));
        assert!(hatshop(json!({})).writes);
    }

    #[test]
    fn a_table_without_its_index_is_advised_against() {
        let advice = |options| hatshop(options).advice.len();
        assert_eq!(advice(json!({"layout": "line_items"})), 0);
        assert_eq!(
            advice(json!({"layout": "line_items", "secondary_index": false})),
            1
        );
        assert_eq!(advice(json!({"secondary_index": false})), 0, "the key finds them");
    }

    #[test]
    fn on_cassandra_a_table_without_its_index_is_told_to_be_no_other() {
        let spec = HatshopSpec {
            layout: HatshopLayout::LineItems,
            secondary_index: false,
            ..HatshopSpec::default()
        };
        let advice = |kind: &str| {
            let driver = DriverRequest {
                kind: kind.into(),
                system: None,
                options: Default::default(),
                runner: None,
                isolation: None,
            };
            advice(&spec, Some(&driver)).remove(0)
        };
        assert!(advice("cassandra").contains("does nothing on Cassandra"));
        assert!(advice("mysql").contains("all lines are read"));
    }

    #[test]
    fn a_mix_that_deletes_and_makes_none_is_reported_when_its_deletions_make_orders() {
        let mix = |create: u32| json!({"orders": 5, "create": create, "read": 1, "update": 0, "update_attribute": 0});
        let advice = hatshop(mix(0)).advice;
        assert!(
            advice[0].contains("after about 8 events 1 order is left") && advice.len() == 1,
            "{advice:?}"
        );
        assert!(hatshop(mix(1)).advice.is_empty());
    }

    #[test]
    fn a_preview_tells_the_first_events() {
        let preview = preview(&hatshop(json!({})).spec, 1, 20).unwrap();
        assert_eq!(preview.len(), 20);
        assert!(
            preview.iter().all(|one| one.lines[0].starts_with("order ")),
            "{preview:?}"
        );
    }

    #[track_caller]
    fn refused(option: &str, change: impl FnOnce(&mut HatshopSpec)) {
        let mut spec = HatshopSpec::default();
        change(&mut spec);
        let trouble = validate(&spec, ClientSpec::default()).unwrap_err();
        assert_eq!(trouble.place, format!("workload.{option}"));
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_its_option() {
        validate(&HatshopSpec::default(), ClientSpec::default()).unwrap();
        refused("orders", |s| s.orders = 0);
        refused("lines_max", |s| s.lines_max = 51);
        refused("delete", |s| s.delete = -1.0);
        refused("events_sha256", |s| s.events_sha256 = Some("0f".into()));
        refused("read", |s| {
            (s.create, s.read, s.update, s.update_attribute, s.delete) = (0.0, 0.0, 0.0, 0.0, 0.0);
        });
    }

    #[test]
    fn an_index_of_lines_is_refused_where_they_have_no_table() {
        for index in [true, false] {
            let request = asked(
                "hatshop",
                &json!({"layout": "documents", "secondary_index": index}),
            );
            assert_eq!(resolve(&request).unwrap_err().place, "workload.secondary_index");
        }
        hatshop(json!({"layout": "documents"}));
    }

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        let client = ClientSpec { index: 2, count: 2 };
        assert_eq!(
            validate(&HatshopSpec::default(), client).unwrap_err().place,
            "client"
        );
    }
}
