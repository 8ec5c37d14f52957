//! Night work, instruments and patience: the prose of a hill observatory.

use super::{
    Generated, Recipe,
    writer::{AMBIENT, BREAK, Domain},
};

/// Corpus `observatory`.
pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "observatory",
    title: "Observatory",
    about: "Night work on a hill: stars that come late, a new light on a plate, visitors with potatoes.",
    recipe: Recipe::Prose(&[&OBSERVATORY]),
};

pub(super) const OBSERVATORY: Domain = Domain {
    roles: &["the astronomer", "the director", "the chief observer", "the professor", "the keeper of the instruments"],
    mates: &["the night assistant", "the student", "the mechanic", "the visiting mathematician", "the librarian"],
    lexicon: &[
        (
            "hill",
            &["Gallow Hill", "the Long Ridge", "Mount Ardent", "Crow Head", "the Hermit's Rock", "Saddle Mountain"],
        ),
        ("star", &["Vega", "Arcturus", "Capella", "Altair", "Mizar", "Aldebaran", "Algol", "Mira"]),
        ("planet", &["Saturn", "Jupiter", "Mars", "Neptune", "Uranus"]),
        (
            "instrument",
            &[
                "refractor",
                "transit circle",
                "twelve-inch reflector",
                "spectrograph",
                "great telescope",
                "meridian instrument",
            ],
        ),
        (
            "maker",
            &["a clockmaker in Geneva", "two brothers in Dublin", "an optician from Jena", "a retired naval engineer"],
        ),
        ("object", &["comet", "new star", "minor planet", "faint nebula"]),
        ("number", &["four hundred", "nine hundred", "twelve hundred", "three thousand", "seven hundred"]),
        ("years", &["eight", "thirteen", "seventeen", "twenty-one", "twenty-six"]),
        ("month", &["January", "February", "March", "October", "November", "December"]),
        ("hour", &["one", "two", "three", "half past two", "a quarter past four"]),
        ("warm", &["grey scarf", "fur hat", "sheepskin coat", "pair of green mittens", "patched blanket"]),
        ("giver", &["a sister in the south", "the cook", "a student who had since become famous", "the miller's wife"]),
        (
            "part",
            &["an error in the clock", "a cracked lens", "a spider in the eyepiece", "a loose screw in the mounting"],
        ),
        ("animal", &["an owl", "a fox", "a marten", "a badger"]),
    ],
    open: &[
        "[In {$month}|On clear nights in {$month}|All through {$month}] the dome on {$hill} [is opened at dusk|stands open from dusk to dawn|can be seen from the valley as a small pale dot].",
        "The observatory on {$hill} owns one instrument that is worth the climb: @ {$instrument} built by {$maker}.",
        "For a week the sky above {$hill} had been clear, and nobody there had slept at a reasonable hour.",
        "From {$hill} one can see three villages, two rivers and, on a good night, about {$number} stars more than from anywhere else in the country.",
        "The road up {$hill} is closed by snow from {$month} onwards, and whoever is there then must stay.",
        "At {$hour} in the morning, when the valley was asleep, a red lamp was burning in the dome.",
    ],
    meet: &[
        "{A.full}, {A.role}, had spent {$years} years measuring the light of {$star} and was never seen at work without @ {$warm}, a present from {$giver}.",
        "{A.role}, {A.full}, was known for two things: a catalogue of {$number} stars, which had taken {A.him} {$years} years, and @ {$warm} that {A.he} had been given by {$giver}.",
        "If one asked {A.full}, {A.role}, what {A.he} had been doing for {$years} years, the answer was always the same: looking at {$star}. ^{A.he} did so in @ {$warm}, which had come from {$giver}.",
        "The person who had the keys was {A.full}, {A.role}. ^{A.he} had counted {$number} stars in {$years} years, and counted them better, {A.he} said, since {$giver} had sent {A.him} @ {$warm}.",
    ],
    ambient: &[
        "The clock on the pier ticked so loudly that it seemed to be thinking.",
        "Frost had drawn ferns on the inside of the window.",
        "Somewhere below the dome {$animal} called and was answered.",
        "{$planet} stood low in the west, as yellow as a lamp in a kitchen.",
        "The tea, which had been made at midnight, was cold by now.",
        "When the wind turned, one could hear the river.",
        "On the desk lay a ruler, three pencils and a slice of bread with one bite taken out of it.",
        "The Milky Way lay across the slit of the dome like spilled flour.",
        "A meteor crossed the slit of the dome and was gone before anyone could point at it.",
        "It was so cold that the ink had to be kept in a pocket.",
        "The shadow of the dome moved slowly over the snow.",
        "No light was allowed up there except the red lamp, in which every face looked kind.",
    ],
    plots: &[
        // The new object.
        &[
            &[
                "It was on the plate of the previous night that {A} saw it: a smudge, no larger than a grain of salt, close to {$star}.",
                "At {$hour} in the morning {A} noticed a point of light not far from {$star}, where no light had been the night before.",
            ],
            &[
                "{A?} breathed on the glass, wiped it, and looked again.",
                "{A?} turned the plate over, in case it was dust, and it was not dust.",
            ],
            &[
                "It did not appear in the catalogue, neither among the first {$number} entries nor among the last.",
                "None of the charts showed it, and some of those charts {A.he} had drawn {A.himself}.",
            ],
            AMBIENT,
            BREAK,
            &[
                "\"Come and look at this,\" {A} called down the stairs, \"and tell me what you see.\"",
                "\"Are you awake?\" asked {A}, and knocked a second time.",
            ],
            &[
                "{B.full}, {B.role}, came up with one boot on and bent over the eyepiece for a long time.",
                "{B.full}, {B.role}, who had been asleep on two chairs, looked at the plate without a word and then at the chart.",
            ],
            &[
                "\"I see {$star},\" said {B}, \"and I see something that should not be there.\"¶\"Then we have both gone mad,\" said {A}, \"or it is @ {$object}.\"",
                "\"It has moved,\" said {B} at last. \"Last night it was on the other side of {$star}. Or am I dreaming?\"¶\"You are not dreaming,\" said {A}. \"I believe it is @ {$object}, and I believe that we are the first.\"",
            ],
            BREAK,
            &[
                "They measured its place four times before the sky grew pale, {A} at the {$instrument} and {B} at the clock.",
                "Until dawn they worked without stopping: {B} read out the time, {A} set the wires of the {$instrument}, and neither trusted the other's arithmetic.",
            ],
            AMBIENT,
            &[
                "A telegram was sent that same morning from the village, where the clerk made them spell every word.",
                "In the morning {B} ran down {$hill} to send a telegram, fell twice, and arrived covered in snow.",
            ],
            &[
                "The answer came three days later. The {$object} had been seen that night by no one else in the world.",
                "Two other observatories had seen it as well, but both of them an hour later, and an hour is enough.",
            ],
        ],
        // The error.
        &[
            &[
                "For eleven nights the measurements of {$star} had been wrong, always by the same small amount.",
                "Something was wrong with the numbers. Every night {$star} seemed to arrive a little late.",
            ],
            &[
                "At first {A} blamed the weather, then the new plates, and in the end {A.himself}.",
                "{A?} added up the columns again and again, as though the mistake might grow tired and come out.",
            ],
            AMBIENT,
            BREAK,
            &[
                "\"Could it be the star itself?\" asked {B.full}, {B.role}, without much hope.¶\"{$star} has kept good time for longer than we have,\" said {A}.",
                "{B.full}, {B.role}, had an idea of {B.his} own. \"What if {$star} is right,\" {B.he} said, \"and we are wrong?\"¶\"That is what I am afraid of,\" said {A}. \"A star cannot be repaired, but neither does it need to be.\"",
            ],
            &[
                "So they took the {$instrument} apart, piece by piece, and laid the pieces on a bed sheet in the order in which they had been removed.",
                "They began with the {$instrument}, which had been built by {$maker} and had never been opened since.",
            ],
            &[
                "It took the whole of the day, because each of the two hundred screws had to be cleaned and counted.",
                "Every lens was lifted out with gloves, held up to the window, and wrapped in silk.",
            ],
            BREAK,
            &[
                "What they found, shortly before sunset, was {$part}.",
                "The cause, when at last it was found, was {$part}.",
            ],
            &[
                "\"For this,\" said {A}, \"I have not slept since the beginning of {$month}.\"",
                "{B?} began to laugh and could not stop, and after a moment {A} was laughing too.",
            ],
            &[
                "That night {$star} crossed the wire exactly when it should, and {A} drew a very small star in the margin of the book.",
                "By midnight the {$instrument} had been put together again, and {$star} was as punctual as ever.",
            ],
        ],
        // The visitors.
        &[
            &[
                "Once a year the people of the valley are invited up {$hill} to look at {$planet}.",
                "On the first Saturday of {$month} the dome is open to anyone who is willing to climb.",
            ],
            &[
                "That year so many came that the line reached down the stairs, out of the door and round the building.",
                "Some sixty people had come, with lanterns, babies and a basket of hot potatoes.",
            ],
            AMBIENT,
            &[
                "{A?} dreaded the evening for weeks beforehand and enjoyed it more than anyone.",
                "{A}, who disliked crowds, had hidden {A.his} best lenses and put on a clean collar.",
            ],
            BREAK,
            &[
                "The last in the line was a boy who had been carried up on his father's back. \"Is that really {$planet}?\" asked the visitor, after a long silence. \"It looks as if someone had cut it out of paper.\"¶\"It is really {$planet},\" said {A}. \"The light that you are seeing left it more than an hour ago, before you had put your boots on.\"",
                "Near the end came an old woman who had lived all her life at the foot of {$hill} and had never before had the time. \"Why does it tremble?\" the visitor wanted to know. \"Is it cold up there as well?\"¶\"It is our air that trembles,\" said {A}, who had been asked cleverer questions by professors, but not many.",
            ],
            &[
                "{B.full}, {B.role}, was turning the dome by hand, since the motor had been frozen since {$month}, and called down that there were clouds coming.",
                "\"Five more minutes,\" called {B.full}, {B.role}, who stood at the crank. \"There is cloud in the west.\"",
            ],
            BREAK,
            &[
                "The clouds came, the dome was closed, and the potatoes were eaten in the library, where food is strictly forbidden.",
                "When the sky had closed, nobody wanted to go home, so {A} told them how {$maker} had brought the {$instrument} up the hill on eleven mules.",
            ],
            &[
                "{A?} wrapped the youngest of the children in the {$warm} and talked until the lamp burned low.",
                "Someone asked about the {$warm}, and it had to be explained that it was a present from {$giver}.",
            ],
        ],
    ],
    close: &[
        "Before going to bed {A} wrote the date in the book, then the hour, and then, because there was room for it, the words: a good night.",
        "{A?} hung the {$warm}, which {$giver} had sent so many winters ago, over the back of the chair and was asleep before the sun had risen.",
        "In the new edition of the catalogue, which has {$number} stars and one more, there is a note of thanks to {B}.",
        "\"Shall we look at {$star} again tomorrow?\" asked {B}. \"Naturally,\" said {A}. \"Why else would we live on {$hill}?\"",
        "The {$instrument} that {$maker} built is still in use, and on the wall beside it hangs a photograph of {A} and {B}, both of them with their eyes closed.",
        "So ended, for {A}, the best week in {$years} years, and it was followed by a month of rain.",
    ],
    frame: None,
};
