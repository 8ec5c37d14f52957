//! Soil, seasons and small quarrels: the prose of a walled garden.

use super::{
    Generated, Recipe,
    writer::{AMBIENT, BREAK, Domain},
};

/// Corpus `garden`.
pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "garden",
    title: "Garden",
    about: "A walled garden: old trees, lost wells, and something that eats the beans.",
    recipe: Recipe::Prose(&[&GARDEN]),
};

pub(super) const GARDEN: Domain = Domain {
    roles: &["the head gardener", "the old gardener", "the seed keeper", "the beekeeper", "the orchard keeper"],
    mates: &["the apprentice", "the schoolteacher", "the new neighbour", "the doctor", "the carpenter", "the postman"],
    lexicon: &[
        ("garden", &["Harrow Hill", "Saint Anne's", "the Mill House", "Long Meadow", "the old priory", "Fenwick Hall"]),
        ("tree", &["quince tree", "walnut tree", "pear tree", "medlar", "mulberry tree", "apricot tree", "fig tree"]),
        ("flowers", &["tulips", "dahlias", "foxgloves", "irises", "hollyhocks", "sweet peas", "lupins", "peonies"]),
        ("crop", &["beans", "peas", "carrots", "onions", "leeks", "potatoes", "cabbages", "parsnips"]),
        ("pest", &["slugs", "wood pigeons", "rabbits", "field mice", "caterpillars", "deer"]),
        ("tool", &["spade", "pruning knife", "hoe", "watering can", "pair of shears", "trowel"]),
        (
            "maker",
            &[
                "the blacksmith at the ford",
                "a cousin in the north",
                "a travelling tinker",
                "the last owner of the house",
            ],
        ),
        ("years", &["nine", "twelve", "sixteen", "twenty", "twenty-five", "thirty-one"]),
        ("month", &["March", "April", "May", "June", "August", "September", "October"]),
        ("day", &["Monday", "Wednesday", "Thursday", "Saturday", "Sunday"]),
        ("count", &["six", "eight", "twelve", "fifteen", "twenty", "two dozen"]),
        ("bird", &["blackbird", "robin", "thrush", "wren", "starling"]),
        ("side", &["south wall", "north wall", "well", "greenhouse", "lower pond", "stone steps"]),
        ("gate", &["green", "white", "blue", "black", "red"]),
        ("weather", &["dry", "wet", "cold", "windy", "mild"]),
    ],
    open: &[
        "[In {$month}|At the beginning of {$month}|Towards the end of {$month}] the garden at {$garden} is [at its best|never quiet|full of work that cannot wait].",
        "Behind the {$gate} gate at {$garden}, close to the {$side}, stands @ {$tree} that is older than the house.",
        "It had been @ {$weather} spring, and at {$garden} everything was [two weeks late|a little out of order|still waiting for the sun].",
        "Visitors who come to {$garden} are always taken first to the {$side}, where the {$flowers} grow.",
        "The {$crop} had been sown in {$month}, in {$count} rows that ran from the {$gate} gate to the {$side}.",
        "Whoever enters {$garden} through the {$gate} gate smells the {$flowers} before seeing them.",
    ],
    meet: &[
        "The garden was looked after by {A.full}, {A.role}, who had worked there for {$years} years and used the same {$tool}, made by {$maker}.",
        "{A.full}, {A.role}, had come for one summer and stayed for {$years} years. ^{A.his} {$tool} had been made by {$maker}, and {A.he} lent it to nobody.",
        "For {$years} years it had been the business of {A.full}, {A.role}, to see that nothing died there which could be saved. ^{A.he} did it with few words and with @ {$tool} that had been made by {$maker}.",
        "Everybody in the village knew {A.full}, {A.role}, by the {$tool} that {A.he} carried over one shoulder. It was the work of {$maker}, and in {$years} years it had never needed mending.",
    ],
    ambient: &[
        "@ {bird} sang from the top of the {$tree} and would not be interrupted.",
        "Bees went in and out of the {$flowers} as if they were paid by the hour.",
        "The shadow of the {$tree} had reached the path.",
        "A wheelbarrow, which someone had forgotten, was filling slowly with petals.",
        "The earth by the {$side} was dark and smelled of rain.",
        "Over the wall came the sound of a piano and, now and then, of laughter.",
        "The water in the stone basin was covered with seeds.",
        "On the bench lay a straw hat, a ball of string and half an apple.",
        "A hedgehog crossed the gravel, stopped to think, and crossed back.",
        "Smoke from a heap of damp leaves drifted between the trees.",
        "Two white butterflies chased each other over the {$crop} and vanished.",
        "The clock of the church struck late, as it always did.",
    ],
    plots: &[
        // The thief in the rows.
        &[
            &[
                "One {$day} morning {A} found that somebody had been at the {$crop}.",
                "It was on a {$day} that {A} first noticed the gaps among the {$crop}.",
            ],
            &[
                "Of {$count} rows only half were left, and the leaves had been bitten off as neatly as with scissors.",
                "Whole plants had been pulled out of the ground, and what remained was trodden flat.",
            ],
            AMBIENT,
            &[
                "{A?} knelt down, looked for footprints, and found none that told {A.him} anything.",
                "{A?} walked along the {$side} twice, counting under {A.his} breath, and grew more puzzled each time.",
            ],
            BREAK,
            &[
                "\"It is the {$pest},\" said {B.full}, {B.role}, who had stopped at the {$gate} gate. \"They have been at mine as well.\"",
                "{B.full}, {B.role}, was leaning on the {$gate} gate. \"Do you think it was the {$pest}?\" {B.he} asked.",
            ],
            &[
                "\"It may be,\" said {A}, \"but I have never known them to close a gate behind them.\"",
                "\"Perhaps,\" {A} answered, \"although the {$pest} that I know do not wear boots.\"",
            ],
            &[
                "{B?} laughed, and then saw that {A} was quite serious.",
                "\"Then who was it?\" asked {B}, looking round as if the answer might be hiding behind the {$tree}.",
            ],
            &[
                "They agreed to keep watch that night, with a lamp under a cloth and a flask of soup between them.",
                "So it was decided that the two of them would sit up in the shed and wait.",
            ],
            BREAK,
            &[
                "Nothing happened until the moon had gone behind the {$tree}.",
                "For hours there was nothing to hear but the wind and the church clock.",
            ],
            &[
                "Then the gate was pushed open, very gently, and in came a brown goat with a broken rope round its neck.",
                "Then something large came through the hedge, sneezed, and began to eat. It was the miller's donkey.",
            ],
            &["\"So much for the {$pest},\" whispered {B}.", "{B?} was laughing so hard that the lamp went out."],
            &[
                "In the morning the animal was taken home, and by the end of {$month} the gaps had been filled with late {$crop}.",
                "{A?} mended the hedge the next day, and its owner sent {$count} eggs by way of apology.",
            ],
        ],
        // The old tree.
        &[
            &[
                "The {$tree} by the {$side} had not borne fruit for [three|four|five] years, and there was talk of cutting it down.",
                "That year the {$tree} came into leaf on one side only.",
            ],
            &[
                "The trunk was hollow, the bark came away in the hand, and one branch had to be held up by a post.",
                "Everyone who saw it shook their heads, and some of them offered to bring a saw.",
            ],
            AMBIENT,
            BREAK,
            &[
                "\"How old is it?\" asked {B.full}, {B.role}, who had come to borrow a ladder.¶\"Older than the wall,\" said {A}. \"My grandfather was lifted up into it to steal the fruit.\"",
                "{B.full}, {B.role}, laid a hand on the bark. \"Can anything be done for it?\" {B.he} asked.¶\"I have asked myself that for {$years} years,\" said {A}. \"A tree does not hurry, so why should we?\"",
            ],
            &[
                "\"But it gives you nothing,\" said {B}.",
                "\"Other people would have cut it down long ago,\" said {B}, who meant it kindly.",
            ],
            &[
                "\"It gives shade,\" said {A}, \"and it gives the {bird} somewhere to complain.\"",
                "{A?} did not answer, but took the {$tool} and began, with great care, to loosen the soil around the roots.",
            ],
            BREAK,
            &[
                "All that autumn {A} fed the roots with leaves and ashes, and in the winter the trunk was wrapped in straw.",
                "In the course of the winter the dead wood was taken out, a little at a time, so that the tree would hardly notice.",
            ],
            AMBIENT,
            &[
                "In the following {$month} there was one flower, high up, where no one could have planted it.",
                "When the snow had gone, {B} came running with the news that there were buds on the dead side.",
            ],
            &[
                "From one flower came one fruit. It was divided, on a plate, between {$count} people, and everyone said that it was excellent.",
                "That summer the {$tree} bore {$count} fruits, of which the {bird} ate all but three.",
            ],
        ],
        // The show.
        &[
            &[
                "Every year, on the second {$day} of {$month}, a prize is given for the finest {$flowers} in the valley.",
                "The {$flowers} were meant for the show, which was to be held on {$day}.",
            ],
            &[
                "{A?} had won it {$count} times and pretended not to care.",
                "{A?} had never entered anything before, and was persuaded only because the prize was a new greenhouse door.",
            ],
            AMBIENT,
            BREAK,
            &[
                "This year there was a rival. {B.full}, {B.role}, had been growing {$flowers} in secret, in a yard that got no more than two hours of sun.",
                "What {A} did not know was that {B.full}, {B.role}, had been up before dawn for weeks, watering {$flowers} of a colour which nobody had ever seen.",
            ],
            &[
                "\"I hear that yours are very fine,\" said {A}, when they met by the {$side}.¶\"They are nothing much,\" said {B}, who was a bad liar.",
                "\"Is it true what they say about your {$flowers}?\" asked {A} one evening over the wall.¶\"That depends on what they say,\" said {B}, and turned as red as a beetroot.",
            ],
            &[
                "The night before the show there was a hailstorm. It lasted for ten minutes, and when it was over there was not a whole flower left at {$garden}.",
                "Two days before the show the {$pest} came. By the morning every bud at {$garden} was gone, and {A} stood among the stalks with the {$tool} in one hand and said nothing at all.",
            ],
            BREAK,
            &[
                "It was {B} who came through the {$gate} gate with a basket. \"Half of these are yours,\" {B.he} said. \"You gave me the seed two years ago, and I never thanked you.\"",
                "Before breakfast there was a knock at the {$gate} gate. {B} was standing there with an armful of {$flowers} and a speech that {B.he} had clearly practised.",
            ],
            &[
                "They entered them together, under both names, and were given the second prize.",
                "They won, of course, and quarrelled cheerfully for the rest of the year about who should keep the cup.",
            ],
        ],
        // The lost well.
        &[
            &[
                "There had been no rain since {$month}, and the {$crop} were beginning to hang their heads.",
                "In the great drought, when even the pond had shrunk to a puddle, the {$crop} at {$garden} were the first to suffer.",
            ],
            &[
                "Water was carried from the river in buckets, {$count} of them each morning and as many again at night.",
                "{A?} carried water until {A.his} hands were raw, and it was never enough.",
            ],
            AMBIENT,
            BREAK,
            &[
                "It was then that {B.full}, {B.role}, remembered an old map that hung in the vestry. On it, between the {$tree} and the {$side}, someone had drawn a small circle and written one word in brown ink.",
                "\"Did there not use to be a well?\" asked {B.full}, {B.role}, putting down two empty buckets. \"My grandmother used to speak of it,\" {B.he} went on. \"Between the {$tree} and the {$side}, she said, and as deep as a church.\"",
            ],
            &[
                "\"If it was there, it was filled in,\" said {A}. \"I have dug that ground for {$years} years.\"",
                "\"I would have found it,\" said {A}. \"One does not dig the same ground for {$years} years without learning what is under it.\"",
            ],
            &[
                "All the same {A?} fetched the {$tool}, and all the same they began to dig.",
                "But {B} had already paced out the distance and was marking the place with a stick.",
            ],
            BREAK,
            &[
                "They had dug down to their waists when the {$tool} struck a flat stone.",
                "On the third evening, under a slab that took both of them to move, they found the ring of a wall.",
            ],
            &[
                "{B?} dropped a pebble through the gap. Neither of them breathed. Far below there was a splash.",
                "A cold breath came up out of the dark, and with it the smell of water.",
            ],
            &[
                "The {$crop} were saved that year, and so was the {$tree}.",
                "Since then the buckets have hung in the shed, and the {$crop} have never been thirsty again.",
            ],
        ],
    ],
    close: &[
        "{A?} cleaned the {$tool}, which {$maker} had made to last, and hung it on its nail.",
        "Even now the {$gate} gate at {$garden} is left open on a {$day}, and anyone who likes may come in and sit beneath the {$tree}.",
        "\"Well,\" said {A}, \"that is one thing more that I have learned in {$years} years.\"",
        "When {B} told the story in later years, the {$tree} grew taller every time, but {A} never corrected a word of it.",
        "That evening the two of them sat by the {$side} until it was too dark to see the {$flowers}, and neither felt any need to speak.",
        "In the garden book, under {$month}, there is a single sentence in the hand of {A}: the {$crop} are doing well.",
    ],
    frame: None,
};
