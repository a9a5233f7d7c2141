use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Kettle {
    /// What it is called.
    #[schemars(length(min = 1))]
    name: String,
    /// Cups it holds.
    #[schemars(range(min = 1, max = 12))]
    cups: u32,
    /// Share of it that is filled.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    share: f64,
    /// Beeps when done.
    beeps: bool,
    heat: Heat,
    lid: Option<Lid>,
    /// Cups poured, and when.
    poured: Vec<(u32, u64)>,
    timer: Option<Timer>,
    /// By names that are not ours.
    labels: BTreeMap<String, String>,
    /// Where it stands.
    #[schemars(extend("system" = true))]
    shelf: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct Timer {
    minutes: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Heat {
    Coal,
    /// By a wire.
    Electric {
        volts: u32,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Lid {
    Hinged,
    /// Comes off.
    Loose,
}

impl Default for Kettle {
    fn default() -> Self {
        Self {
            name: "k".into(),
            cups: 4,
            share: 0.5,
            beeps: false,
            heat: Heat::Coal,
            lid: None,
            poured: vec![],
            timer: None,
            labels: BTreeMap::new(),
            shelf: "low".into(),
        }
    }
}

fn check(said: Value) -> Result<Said, (String, String, String)> {
    let mut said = said.as_object().unwrap().clone();
    match Table::of::<Kettle>().check(&mut said, "kettle") {
        Ok(()) => Ok(said),
        Err(trouble) => Err((trouble.what, trouble.place, trouble.hint)),
    }
}

#[track_caller]
fn refused(said: Value, what: &str, place: &str, hint: &str) {
    let (found_what, found_place, found_hint) = check(said).unwrap_err();
    assert_eq!(
        (found_what.as_str(), found_place.as_str(), found_hint.as_str()),
        (what, place, hint)
    );
}

#[test]
fn what_fits_is_left_as_it_is() {
    let said = json!({"name": "x", "cups": 12, "share": 0.1, "beeps": true, "lid": null, "poured": [[1, 2]]});
    assert_eq!(Value::Object(check(said.clone()).unwrap()), said);
    check(json!({"lid": "loose", "heat": {"kind": "electric", "volts": 230}})).unwrap();
}

#[test]
fn a_name_alone_becomes_the_table_it_is_short_for() {
    assert_eq!(
        check(json!({"heat": "coal"})).unwrap()["heat"],
        json!({"kind": "coal"})
    );
}

#[test]
fn a_refusal_names_the_option_and_what_is_allowed_there() {
    let kettle = |name: &str| format!("kettle.{name}");
    refused(
        json!({"cup": 3}),
        "unknown option `cup`",
        "kettle.cup",
        "did you mean `cups`?",
    );
    let all = "it is one of: name, cups, share, beeps, heat, lid, poured, timer, labels, shelf";
    refused(json!({"zzz": 3}), "unknown option `zzz`", "kettle.zzz", all);
    let cups = "it must be a whole number from 1 to 12";
    for (said, shown) in [
        (json!(0), "0"),
        (json!(13), "13"),
        (json!("4"), "\"4\""),
        (json!(true), "true"),
        (json!(1.5), "1.5"),
        (json!(-1), "-1"),
    ] {
        refused(
            json!({"cups": said}),
            &format!("`cups` cannot be {shown}"),
            &kettle("cups"),
            cups,
        );
    }
    refused(
        json!({"share": 1}),
        "`share` cannot be 1",
        "kettle.share",
        "it must be a number above 0 and below 1",
    );
    refused(
        json!({"name": ""}),
        "`name` cannot be \"\"",
        "kettle.name",
        "it must be a text that is not empty",
    );
    refused(
        json!({"beeps": "on"}),
        "`beeps` cannot be \"on\"",
        "kettle.beeps",
        "it must be true or false",
    );
    refused(
        json!({"lid": "lose"}),
        "`lid` cannot be \"lose\"",
        "kettle.lid",
        "did you mean `loose`? It is one of: hinged, loose",
    );
    refused(
        json!({"heat": "gas"}),
        "`heat` cannot be \"gas\"",
        "kettle.heat",
        "it is one of: coal, electric",
    );
    refused(
        json!({"heat": "electric"}),
        "`heat` needs `volts`",
        "kettle.heat",
        "it must be a whole number from 0",
    );
    refused(
        json!({"heat": {"kind": "electric", "volts": "x"}}),
        "`heat` `volts` cannot be \"x\"",
        "kettle.heat",
        "it must be a whole number from 0",
    );
    refused(
        json!({"heat": {"kind": "coal", "volts": 1}}),
        "`heat` has no part `volts`",
        "kettle.heat",
        "it is one of: kind",
    );
    refused(
        json!({"poured": [[1]]}),
        "`poured` cannot be [1]",
        "kettle.poured",
        "it must be a list",
    );
}

#[test]
fn bounds_hold_for_options_that_were_read_without_them() {
    check_bounds(&Kettle::default(), "kettle").unwrap();
    let trouble = check_bounds(
        &Kettle {
            cups: 0,
            ..Kettle::default()
        },
        "kettle",
    )
    .unwrap_err();
    assert_eq!(trouble.place, "kettle.cups");
    let nan = check_bounds(
        &Kettle {
            share: f64::NAN,
            ..Kettle::default()
        },
        "kettle",
    )
    .unwrap_err();
    assert_eq!(nan.place, "kettle.share");
}

#[test]
fn an_option_is_described_by_its_own_lines() {
    let described = Table::of::<Kettle>().describe();
    assert_eq!(
        described
            .iter()
            .map(|option| option.name.as_str())
            .collect::<Vec<_>>(),
        Table::of::<Kettle>().names()
    );
    let cups = &described[1];
    assert_eq!(
        (cups.default.clone(), cups.values.as_str(), cups.meaning.as_str()),
        (json!(4), "a whole number from 1 to 12", "Cups it holds.")
    );
    let heat = &described[4];
    assert_eq!(heat.values, "`\"coal\"`, `{ kind = \"electric\", volts }`");
    assert_eq!(heat.names[1], ("electric".to_owned(), "By a wire.".to_owned()));
}

#[test]
fn a_table_that_may_be_absent_is_switched_on_and_off() {
    assert_eq!(check(json!({"timer": true})).unwrap()["timer"], json!({}));
    assert_eq!(check(json!({"timer": false})).unwrap()["timer"], Value::Null);
    refused(
        json!({"timer": {"minuts": 3}}),
        "`timer` has no part `minuts`",
        "kettle.timer",
        "did you mean `minutes`?",
    );
}

#[test]
fn values_under_names_of_another_program_are_texts_as_it_spells_them() {
    let said = check(json!({"labels": {"a": 5, "b": true, "c": "x"}})).unwrap();
    assert_eq!(said["labels"], json!({"a": "5", "b": "ON", "c": "x"}));
    assert!(check(json!({"labels": {"a": [1]}})).is_err());
}

#[test]
fn what_the_control_plane_alone_knows_is_no_option_of_a_plan() {
    let said = |said: Value| said.as_object().unwrap().clone();
    let (kettle, of_plan) = decide::<Kettle>(&said(json!({"cups": 2, "timer": true})), "kettle").unwrap();
    assert_eq!((kettle.cups, &*kettle.shelf), (2, "low"));
    assert_eq!(of_plan["timer"], json!({"minutes": 0}));
    assert_eq!(of_plan["name"], "k");
    assert!(!of_plan.contains_key("shelf"));
    let trouble = decide::<Kettle>(&said(json!({"shelf": "high"})), "kettle")
        .err()
        .unwrap();
    assert_eq!(trouble.what, "unknown option `shelf`");
}
