//! Ships, weather and cargo: the prose of a small harbour.

use super::{
    Generated, Recipe,
    writer::{AMBIENT, BREAK, Domain},
};

/// Corpus `harbour`.
pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "harbour",
    title: "Harbour",
    about: "Ships, weather and cargo in a small port; who keeps it, what came in, and what went wrong.",
    recipe: Recipe::Prose(&[&HARBOUR]),
};

pub(super) const HARBOUR: Domain = Domain {
    roles: &["the harbour master", "the pilot", "the lighthouse keeper", "the quay master", "the tug captain"],
    mates: &[
        "the clerk",
        "the young mate",
        "the sailmaker",
        "the customs officer",
        "the ship's cook",
        "the boatbuilder",
    ],
    lexicon: &[
        (
            "ship",
            &[
                "the Marigold",
                "the Heron",
                "the Northern Star",
                "the Adelaide",
                "the Patience",
                "the Blue Linnet",
                "the Saint Brigid",
                "the Corncrake",
                "the Evening Tide",
                "the Two Sisters",
            ],
        ),
        ("craft", &["schooner", "ketch", "brig", "steamer", "barque", "coaster"]),
        ("cargo", &["salt", "timber", "sugar", "coal", "copper wire", "wool", "olive oil", "barley", "marble", "tea"]),
        ("from", &["Lisbon", "Bergen", "Riga", "Cork", "Marseille", "Aberdeen", "Genoa", "Halifax"]),
        ("count", &["forty", "sixty", "ninety", "two hundred", "three hundred", "seventy-two", "a hundred and ten"]),
        ("hold", &["crates", "barrels", "sacks", "casks", "boxes"]),
        ("wind", &["north", "south-west", "east", "north-west", "west"]),
        (
            "berth",
            &["the east quay", "the old mole", "the fish steps", "the coal wharf", "the inner basin", "the stone pier"],
        ),
        (
            "keepsake",
            &[
                "brass whistle",
                "silver watch",
                "bone-handled knife",
                "small telescope",
                "tin compass",
                "red notebook",
                "ivory pipe",
            ],
        ),
        ("giver", &["an uncle", "a Danish captain", "a blind fiddler", "an old schoolteacher", "a grateful passenger"]),
        ("years", &["eleven", "fourteen", "nineteen", "twenty-two", "thirty", "seven"]),
        ("day", &["Monday", "Tuesday", "Thursday", "Friday", "Saturday"]),
        ("month", &["March", "April", "June", "September", "October", "November"]),
        ("bird", &["gulls", "terns", "cormorants", "jackdaws", "oystercatchers"]),
        ("hour", &["six", "seven", "half past four", "five", "a quarter to seven"]),
        ("damage", &["a split mast", "a torn mainsail", "a cracked rudder", "a leaking plank below the waterline"]),
    ],
    open: &[
        "[On a {$day} in {$month}|One {$day} in {$month}|Early on a {$day} in {$month}], the wind had gone round to the {$wind} and the harbour lay [quiet|grey and still|under a thin mist].",
        "The {$craft} that everyone was waiting for, {$ship}, had left {$from} [nine days|two weeks|almost a month] before with {$count} {$hold} of {$cargo}.",
        "All week the talk in the town had been of {$ship}, @ {$craft} out of {$from} that carried {$cargo}.",
        "By {$hour} the lamps along {$berth} had been put out, and the first boats were already [beyond the bar|past the outer buoy|coming home].",
        "In {$month} the tide leaves {$berth} almost dry, and the boats lean on their keels like tired men.",
        "Nobody who lived near {$berth} could remember @ {$month} with so little rain or so much {$wind} wind.",
    ],
    meet: &[
        "{A.full}, {A.role}, had kept these waters for {$years} years and carried everywhere @ {$keepsake} that had been given to {A.him} by {$giver}.",
        "At the window of the office stood {A.role}, {A.full}, who turned @ {$keepsake} over and over in {A.his} fingers. It had come to {A.him} from {$giver}, and in {$years} years of work {A.he} had never once mislaid it.",
        "{A.role}, whose name was {A.full}, had been awake since {$hour}. For {$years} years {A.he} had begun each day in the same way: a cup of black coffee, a look at the glass, and @ {$keepsake} slipped into {A.his} coat pocket.",
        "It was the {$keepsake} that strangers noticed first about {A.full}, {A.role}. ^{A.he} had been given it by {$giver}, and after {$years} years it was worn as smooth as a pebble.",
    ],
    ambient: &[
        "[A line of|Some twenty] {bird} sat along the wall, all facing {$wind}.",
        "The smell of tar and wet rope hung over everything.",
        "Somewhere behind the sheds a hammer was ringing on iron.",
        "Nets that had been mended in the night were spread out to dry.",
        "The water between the hulls was [as green as bottle glass|the colour of slate|streaked with oil and light].",
        "A bell sounded twice from the outer buoy and then fell silent.",
        "Children who should have been at school were fishing from the steps.",
        "From the bakery above the quay came the smell of the second batch of bread.",
        "A cat slept on a coil of rope as if no ship would ever need it.",
        "Far out, where the sea met the sky, there was a single brown sail.",
        "Every few minutes the {bird} rose, complained, and settled again.",
        "The flag over the customs house pulled hard at its cord.",
    ],
    plots: &[
        // The late ship.
        &[
            &[
                "{$ship} should have been in by {$day}, yet no one had seen her.",
                "{$ship} was now two days late, and nobody could say why.",
                "What troubled {A} was that {$ship}, which was never late, had not come in with the morning tide.",
            ],
            AMBIENT,
            &[
                "{A?} climbed the stairs to the signal room, wiped the glass, and searched the horizon [from end to end|until {A.his} eyes watered].",
                "Twice before noon {A?} walked to the end of {$berth}, and twice {A.he} came back without a word.",
            ],
            BREAK,
            &[
                "\"Have you heard anything?\" asked {B.full}, {B.role}, when {A} came in out of the wind.",
                "{B.full}, {B.role}, was waiting at the door. \"Any sign of her?\" {B.he} asked.",
            ],
            &[
                "\"Not a thing,\" said {A}. \"With the wind in the {$wind} she could be sheltering behind the islands.\"",
                "\"Nothing yet,\" {A} answered. \"But if she had gone down, something would have come ashore by now.\"",
            ],
            &[
                "\"And the {$cargo}?\" said {B}. \"There are {$count} {$hold} of it, and half the town has paid already.\"",
                "\"I have buyers for {$count} {$hold} of {$cargo},\" said {B}, \"and all of them want to know what to think.\"",
            ],
            &[
                "{A?} [only shook {A.his} head|did not answer at once]. \"Cargo can be bought again,\" {A.he} said. \"I am thinking of the crew.\"",
            ],
            BREAK,
            AMBIENT,
            &[
                "It was almost dark when a light showed beyond the bar, low down and moving slowly.",
                "Towards evening the mist lifted, and there, so close that one could count her ropes, lay the {$craft}.",
            ],
            &[
                "{$ship} had been held up by {$damage}, which the crew had repaired at sea with whatever they could find.",
                "She came in under half her canvas, with {$damage} and a crew too tired to cheer.",
            ],
            &[
                "Before midnight she was made fast at {$berth}, and the {$count} {$hold} were counted by lantern light. Not one was missing.",
                "They brought her to {$berth} and unloaded her that same night; of the {$count} {$hold} of {$cargo}, only two had been spoiled by the water.",
            ],
        ],
        // The wrong papers.
        &[
            &[
                "When {$ship} was unloaded at {$berth}, the numbers did not agree.",
                "The trouble began at {$berth}, where the cargo of {$ship} was being counted for the second time.",
            ],
            &[
                "The papers that had been signed in {$from} spoke of {$count} {$hold}, but there were four more on the quay than there should have been.",
                "According to the papers from {$from} there were {$count} {$hold} of {$cargo} on board; on the quay there was one fewer.",
            ],
            AMBIENT,
            &[
                "{B.full}, {B.role}, counted them a third time, aloud, touching each one with a stick of chalk.",
                "It was {B.full}, {B.role}, who noticed the mistake and sent for {A.role}.",
            ],
            BREAK,
            &[
                "\"Could they have been counted wrongly in {$from}?\" {B} asked.",
                "\"Is it possible,\" asked {B}, \"that somebody in {$from} cannot count?\"",
            ],
            &[
                "\"It is possible,\" said {A}, \"but I have known that captain for {$years} years, and he does not make mistakes of that kind.\"",
                "\"Anyone can make a mistake,\" {A} replied, \"and most people make theirs on a {$day}.\"",
            ],
            &[
                "They opened the papers again and went through them line by line, {A} reading and {B} holding the lamp.",
                "{A?} laid the {$keepsake} on the page to keep it flat, and together they added up the columns from the bottom to the top.",
            ],
            BREAK,
            &[
                "At last the answer was found on the back of the third sheet, where a few words had been written in pencil and half rubbed out.",
                "The answer, when it was found, was so simple that both of them laughed.",
            ],
            &[
                "A part of the {$cargo} belonged to the captain's sister and had never been meant for sale.",
                "Two lists had been stitched together in the wrong order, so that one page had been counted for {$ship} and for another {$craft} as well.",
            ],
            &[
                "\"So nobody has stolen anything,\" said {B}, who sounded almost disappointed.",
                "{B} crossed out the wrong number, wrote the right one beside it, and blew on the ink until it was dry.",
            ],
        ],
        // The storm.
        &[
            &[
                "The glass had been falling since {$hour}, and {A} did not like the look of the sky.",
                "All morning the swell had been growing, although there was hardly any wind to explain it.",
            ],
            &[
                "\"It will blow from the {$wind} before dark,\" {A?} said to nobody in particular, and began to take in the flags.",
                "{A?} had the storm cone hoisted at once, and within the hour every boat at {$berth} had been given a second line.",
            ],
            AMBIENT,
            &[
                "Only {$ship}, which had come from {$from} with {$count} {$hold} of {$cargo}, still lay outside at anchor.",
                "There was one vessel that could not be moved in time: {$ship}, whose hold was full of {$cargo}.",
            ],
            BREAK,
            &[
                "When the storm broke, it broke all at once.",
                "The first gust took two slates from the roof of the office; the second took the door.",
            ],
            &[
                "Rain was driven through the keyhole, and the lamp over {$berth} swung until its glass was broken.",
                "Waves that were higher than the wall fell on the quay and ran back hissing over the stones.",
            ],
            &[
                "{B.full}, {B.role}, ran in with water streaming from {B.his} hat. \"The {$craft} is dragging her anchor!\" {B.he} cried.¶\"Then we must get a line to her,\" said {A}, and was already pulling on {A.his} boots.",
                "\"She is moving,\" said {B.full}, {B.role}, with {B.his} face against the window. \"She is coming in on the rocks.\"¶\"Not if we are quick,\" said {A}. \"Find me four people who can row.\"",
            ],
            BREAK,
            &[
                "What happened in the next hour was told afterwards in so many ways that the truth is hard to find.",
                "They went out in the long boat, which had been built for six and carried five.",
            ],
            &[
                "It is certain that the line was thrown three times, and that it was {B} who caught it.",
                "Three times they were thrown back, and the third time {B} lost an oar and very nearly a hand.",
            ],
            &[
                "By morning the wind had died away, and {$ship} lay safe at {$berth} with {$damage} and with all her {$cargo} dry.",
                "Towards dawn {$ship} was brought round to {$berth}. She had suffered {$damage}, but nobody had been hurt.",
            ],
        ],
        // The passenger.
        &[
            &[
                "{$ship} brought not only {$cargo} that day but also a passenger whom nobody had expected.",
                "Among the {$hold} of {$cargo} that were carried ashore from {$ship} sat a small girl with a suitcase.",
            ],
            &[
                "She was about nine years old, she had come all the way from {$from} by herself, and she was not afraid of anyone.",
                "On the label of her suitcase the name of the town had been written in capital letters, and nothing else.",
            ],
            &[
                "{A?} bent down and asked her, as politely as {A.he} could, whom she was looking for.",
                "\"Whom are you looking for?\" asked {A}, who had no children and spoke to them as if they were captains.",
            ],
            BREAK,
            &[
                "\"For my aunt,\" said the girl. \"She lives near {$berth} and keeps bees, a goat and a lodger.\"",
                "\"I am to ask for the house with the blue door,\" said the girl, \"and I am not to give my suitcase to anybody.\"",
            ],
            &[
                "{B.full}, {B.role}, who knew every house between the church and the sea, thought for a while and then nodded.",
                "Nobody on the quay knew of such a house except {B.full}, {B.role}, who had once painted its door.",
            ],
            &[
                "\"That can only be old Mrs. Pell,\" said {B}. \"But she moved inland when the roof fell in, and that was in {$month} of last year.\"",
                "\"I know the place,\" {B.he} said, \"but it is an hour on foot, and the road is under water until the tide turns.\"",
            ],
            AMBIENT,
            BREAK,
            &[
                "So the three of them waited in the office, where it was warm, and {A} let the girl hold the {$keepsake}.",
                "While they were waiting, {A} made tea, and the girl was allowed to look at the {$keepsake} and to ask as many questions as she liked.",
            ],
            &[
                "She wanted to know why ships are called she, how deep the harbour was, and who had counted the fish.",
                "\"Did it belong to a king?\" she asked. \"No,\" said {A}, \"it was given to me by {$giver}, who was a good deal more useful than a king.\"",
            ],
            &[
                "In the evening {B} walked with her along the shore, carrying nothing, since the suitcase was not to be given to anybody.",
                "When the road was dry, {B} took her there on the back of a cart, and the aunt wept, scolded, and wept again.",
            ],
        ],
    ],
    close: &[
        "That night {A} put the {$keepsake} on the shelf beside the bed and slept as one sleeps after {$years} years of the same work.",
        "\"Go home,\" said {A} at last, and {A.he} stood alone for a while on {$berth}, with the {$keepsake} in {A.his} hand, listening to the water.",
        "In the log {A} wrote only one line: {$ship}, from {$from}, {$cargo}, all well.",
        "When {B} asked years later what had become of {$ship}, {A} was able to say exactly: she still sailed from {$from}, and she was still late in {$month}.",
        "The {$cargo} was sold before the end of the week, the {$craft} went back to {$from}, and {A} was seen on {$berth} again at {$hour} as though nothing had happened.",
        "And the {$keepsake}, which had seen worse days than this, went back into the pocket where it belonged.",
    ],
    frame: None,
};
