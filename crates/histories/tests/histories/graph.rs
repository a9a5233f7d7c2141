use bakeoff_histories::graph::{Components, Edge, Graph, Kind, View};

fn graph(vertices: usize, edges: &[(u32, Kind, u32)]) -> Graph {
    Graph::build(vertices, |emit| {
        for (from, kind, to) in edges {
            emit(*from, Edge::new(*kind, 7, *to));
        }
    })
}

#[test]
fn graph_components_are_numbered_against_the_direction_of_edges() {
    use Kind::Ww;
    let graph = graph(
        6,
        &[
            (0, Ww, 1),
            (1, Ww, 2),
            (2, Ww, 0),
            (2, Ww, 3),
            (3, Ww, 4),
            (4, Ww, 3),
        ],
    );
    let view = View {
        graph: &graph,
        kinds: Ww.bit(),
        apart: false,
    };
    let components = Components::of(view);
    assert!(components.same(0, 1) && components.same(1, 2) && components.same(3, 4));
    assert!(!components.same(2, 3) && components.of[0] > components.of[3]);
    assert!(components.in_cycle(0) && components.in_cycle(4) && !components.in_cycle(5));
    let levels = components.levels(view);
    assert_eq!(
        (
            levels[components.of[0] as usize],
            levels[components.of[3] as usize]
        ),
        (0, 1)
    );
}

#[test]
fn graph_has_no_path_over_two_rw_in_a_row_where_they_are_kept_apart() {
    use Kind::{Rw, Wr};
    let apart = |graph: &Graph| {
        Components::of(View {
            graph,
            kinds: Rw.bit() | Wr.bit(),
            apart: true,
        })
        .any_cycle()
    };
    assert!(!apart(&graph(2, &[(0, Rw, 1), (1, Rw, 0)])));
    assert!(!apart(&graph(3, &[(0, Rw, 1), (1, Rw, 2), (2, Wr, 0)])));
    assert!(apart(&graph(
        4,
        &[(0, Rw, 1), (1, Wr, 2), (2, Rw, 3), (3, Wr, 0)]
    )));
    assert!(apart(&graph(2, &[(0, Rw, 1), (1, Wr, 0)])));
}

#[test]
fn graph_paths_need_no_stack() {
    let edges: Vec<_> = (0..200_000)
        .map(|from| (from, Kind::Ww, (from + 1) % 200_000))
        .collect();
    let graph = graph(200_000, &edges);
    let components = Components::of(View {
        graph: &graph,
        kinds: Kind::Ww.bit(),
        apart: false,
    });
    assert_eq!(components.count(), 1);
}
