//! Texts of statements, as they are kept for errors.
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// Enough of a statement to recognise it; an INSERT of many rows has kilobytes of placeholders.
const KEPT_BYTES: usize = 200;

thread_local! {
    /// The texts of this thread's statements, once each: thousands of sessions prepare the same ones.
    static TEXTS: RefCell<HashSet<Rc<str>>> = RefCell::default();
}

pub fn start(sql: &str) -> &str {
    sql.get(..KEPT_BYTES).unwrap_or(sql)
}

pub fn shared_start(sql: &str) -> Rc<str> {
    let text = start(sql);
    TEXTS.with_borrow_mut(|texts| match texts.get(text) {
        Some(known) => known.clone(),
        None => {
            let new: Rc<str> = text.into();
            texts.insert(new.clone());
            new
        }
    })
}
