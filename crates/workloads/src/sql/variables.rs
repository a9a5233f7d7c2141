//! Variables that have a value before a script begins or a row is drawn: pgbench's own, and those of the plan.
use crate::script::{Names, Number};
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::sql::SqlSpec;

/// The number of a row that is drawn, from 1; after all others.
pub const ROW: &str = "row";

pub fn names(spec: &SqlSpec) -> Names {
    let mut names = Names::default();
    names.fix("scale", Number::Int(spec.scale.into()));
    for (name, value) in &spec.variables {
        names.fix(name, number(value).unwrap_or(Number::Null));
    }
    names
}

/// In the places of [`names`]. `client`: the user's number, from 0.
pub fn values(spec: &SqlSpec, client: u64, seed: u64) -> Vec<Number> {
    let seed = Number::Int((seed >> 1) as i64);
    let automatic = [
        Number::Int(client as i64),
        seed,
        seed,
        Number::Int(spec.scale.into()),
    ];
    let own = spec
        .variables
        .values()
        .map(|value| number(value).unwrap_or(Number::Null));
    automatic.into_iter().chain(own).collect()
}

pub fn validate(spec: &SqlSpec) -> Result<(), Trouble> {
    for (name, value) in &spec.variables {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || name.is_empty() {
            let what = format!("`variables` cannot name one {name:?}");
            return Err(refuse("variables", what, "a name has letters, digits and _"));
        }
        if crate::script::AUTOMATIC.contains(&name.as_str()) || name == ROW {
            let what = format!("`variables` cannot give `{name}` a value: it has one of its own");
            return Err(refuse(
                "variables",
                what,
                "choose another name; `scale` is an option",
            ));
        }
        if number(value).is_none() {
            let what = format!("`variables` `{name}` cannot be {value:?}");
            return Err(refuse("variables", what, "it is a number, or true or false"));
        }
    }
    Ok(())
}

fn number(value: &str) -> Option<Number> {
    Number::parse(value.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn spec(variables: Value) -> SqlSpec {
        serde_json::from_value(json!({"scale": 5, "variables": variables})).unwrap()
    }

    #[test]
    fn names_and_values_have_the_same_places() {
        let spec = spec(json!({"customers": "10", "share": "0.5"}));
        let (names, values) = (names(&spec), values(&spec, 3, 8));
        let found = |name: &str| values[names.place(name).unwrap() as usize];
        assert_eq!(values.len(), names.len());
        assert_eq!(found("client_id"), Number::Int(3));
        assert_eq!(found("scale"), Number::Int(5));
        assert_eq!(found("customers"), Number::Int(10));
        assert_eq!(found("share"), Number::Double(0.5));
        assert!(validate(&spec).is_ok());
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        for (variables, what) in [
            (json!({"a b": "1"}), "`variables` cannot name one \"a b\""),
            (
                json!({"scale": "1"}),
                "`variables` cannot give `scale` a value: it has one of its own",
            ),
            (json!({"a": "x"}), "`variables` `a` cannot be \"x\""),
        ] {
            let refusal = validate(&spec(variables)).unwrap_err();
            assert_eq!(
                (refusal.what.as_str(), refusal.place.as_str()),
                (what, "workload.variables")
            );
        }
    }
}
