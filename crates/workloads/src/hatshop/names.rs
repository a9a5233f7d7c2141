//! What hats, clients and streets are called.

pub const HATS: [&str; 10] = [
    "Beanie", "Flat", "Fedora", "Fez", "Cloche", "Pork Pie", "Bowler", "Top", "Trilby", "Tin Foil",
];
pub const COLOURS: [&str; 12] = [
    "Burnt Sienna",
    "Puce",
    "Teal",
    "Mauve",
    "Ochre",
    "Chartreuse",
    "Cerulean",
    "Taupe",
    "Vermilion",
    "Indigo",
    "Fawn",
    "Olive",
];
pub const SIZES: [&str; 6] = ["XS", "S", "M", "L", "XL", "XXL"];

pub const FIRST: [&str; 16] = [
    "Ada", "Ben", "Clara", "David", "Edith", "Frank", "Grace", "Henry", "Iris", "Jack", "Kate", "Liam",
    "Mary", "Noah", "Olive", "Paul",
];
pub const LAST: [&str; 16] = [
    "Archer", "Baker", "Carter", "Dyer", "Fisher", "Glover", "Hatter", "Joiner", "Mason", "Potter", "Sadler",
    "Smith", "Tanner", "Turner", "Weaver", "Wright",
];
pub const ADJECTIVES: [&str; 8] = ["Long", "Old", "New", "High", "Green", "Narrow", "Quiet", "Upper"];
pub const CITIES: [&str; 10] = [
    "London", "Leeds", "York", "Bath", "Bristol", "Exeter", "Derby", "Durham", "Oxford", "Luton",
];
