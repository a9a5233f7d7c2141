//! Which endpoint a session is opened at, and which others it may go to.
use bakeoff_model::endpoint::Route;

/// Places in the system's list of endpoints.
pub struct Routes(Route);

impl Routes {
    pub fn new(route: Route) -> Self {
        Self(route)
    }

    pub fn first(&self) -> u32 {
        self.of(0)
    }

    /// In turn.
    pub fn of(&self, session: u32) -> u32 {
        dealt(&self.0.places, session)
    }

    /// For what only reads, in turn; `None`: it goes where everything goes.
    pub fn reader_of(&self, session: u32) -> Option<u32> {
        (!self.0.readers.is_empty()).then(|| dealt(&self.0.readers, session))
    }

    /// Those that a session of this number may be at, beginning where it is. Those dealt to one endpoint go on to
    /// different ones.
    pub fn from(&self, endpoint: u32, session: u32) -> impl Iterator<Item = u32> {
        let side = self.side_of(endpoint);
        let turn = session / side.len() as u32;
        let others = (0..side.len() as u32).map(move |place| dealt(side, turn.wrapping_add(place)));
        std::iter::once(endpoint).chain(others.filter(move |other| *other != endpoint))
    }

    /// Whether a session at this one may go to another.
    pub fn has_others(&self, endpoint: u32) -> bool {
        self.side_of(endpoint).len() > 1
    }

    fn side_of(&self, endpoint: u32) -> &[u32] {
        if self.0.readers.contains(&endpoint) {
            &self.0.readers
        } else {
            &self.0.places
        }
    }
}

fn dealt(places: &[u32], session: u32) -> u32 {
    places[session as usize % places.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(places: &[u32], readers: &[u32]) -> Routes {
        Routes::new(Route {
            places: places.into(),
            readers: readers.into(),
        })
    }

    #[test]
    fn sessions_are_dealt_over_the_endpoints_of_a_route_and_stay_on_it() {
        let pair = routes(&[1, 3], &[]);
        assert_eq!([0, 1, 2].map(|session| pair.of(session)), [1, 3, 1]);
        assert_eq!(pair.from(1, 0).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(pair.from(3, 1).collect::<Vec<_>>(), [3, 1]);
        assert_eq!((pair.reader_of(0), pair.has_others(3)), (None, true));
        assert!(!routes(&[2], &[]).has_others(2));
    }

    #[test]
    fn those_of_an_endpoint_that_will_not_serve_are_dealt_over_the_others() {
        let three = routes(&[0, 1, 2], &[]);
        let next = |session: u32| three.from(three.of(session), session).nth(1);
        assert_eq!([2, 5, 8, 11].map(next), [Some(0), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn of_a_split_route_readers_stay_among_readers() {
        let split = routes(&[0], &[1, 2]);
        assert_eq!([0, 1, 2].map(|session| split.of(session)), [0, 0, 0]);
        assert_eq!(
            [0, 1, 2].map(|session| split.reader_of(session)),
            [Some(1), Some(2), Some(1)]
        );
        assert_eq!(split.from(2, 1).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(split.from(0, 1).collect::<Vec<_>>(), [0]);
        assert_eq!((split.has_others(0), split.has_others(1)), (false, true));
    }
}
