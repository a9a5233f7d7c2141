//! Which endpoint a session is opened at, and which comes after one that will not serve.

/// Places in the system's list of endpoints; at least one.
pub struct Routes(Vec<u32>);

impl Routes {
    /// `places`: not empty.
    pub fn new(places: Vec<u32>) -> Self {
        Self(places)
    }

    pub fn first(&self) -> u32 {
        self.of(0)
    }

    /// In turn.
    pub fn of(&self, session: u32) -> u32 {
        self.0[session as usize % self.0.len()]
    }

    /// The next one; itself where there is no other.
    pub fn after(&self, endpoint: u32) -> u32 {
        let next = self.0.iter().find(|other| **other > endpoint);
        next.copied().unwrap_or_else(|| self.first())
    }

    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_dealt_over_the_endpoints_of_a_route_and_stay_on_it() {
        let routes = Routes::new(vec![1, 3]);
        assert_eq!([0, 1, 2].map(|session| routes.of(session)), [1, 3, 1]);
        assert_eq!([1, 3].map(|endpoint| routes.after(endpoint)), [3, 1]);
        assert_eq!(Routes::new(vec![2]).after(2), 2, "there is no other");
    }
}
