//! Bread, guests and tempers: the prose of the kitchen of an inn.

use super::{
    Generated, Recipe,
    writer::{AMBIENT, BREAK, Domain},
};

/// Corpus `kitchen`.
pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "kitchen",
    title: "Kitchen",
    about: "The kitchen of an inn: a dish that has lost its taste, a feast, a stranger at the window.",
    recipe: Recipe::Prose(&[&KITCHEN]),
};

pub(super) const KITCHEN: Domain = Domain {
    roles: &["the cook", "the innkeeper", "the baker", "the head cook", "the pastry cook"],
    mates: &["the server", "the dishwasher", "the new apprentice", "the cellar keeper"],
    lexicon: &[
        (
            "inn",
            &[
                "the Golden Carp",
                "the Three Lanterns",
                "the White Mare",
                "the Ferryman",
                "the Old Bridge",
                "the Green Jug",
            ],
        ),
        ("dish", &["fish soup", "mutton stew", "onion tart", "mushroom pie", "roast goose", "barley soup", "veal pie"]),
        ("herb", &["thyme", "sage", "dill", "saffron", "marjoram", "nutmeg", "juniper"]),
        ("sweet", &["plum cake", "apple pudding", "honey cake", "cherry tart", "almond cake"]),
        ("tool", &["copper ladle", "black iron pan", "wooden spoon", "long bread knife", "stone mortar"]),
        (
            "giver",
            &[
                "a monk from the mountains",
                "an old army cook",
                "an aunt in Trieste",
                "a sailor who could not pay his bill",
            ],
        ),
        ("guests", &["twelve", "eighteen", "thirty", "forty", "twenty-four", "fifty"]),
        ("years", &["six", "ten", "fifteen", "eighteen", "twenty-three", "thirty"]),
        ("day", &["Monday", "Tuesday", "Wednesday", "Friday", "Saturday", "Sunday"]),
        ("season", &["spring", "summer", "autumn", "winter"]),
        ("feast", &["a wedding", "a christening", "the mayor's birthday", "the harvest supper", "the fair"]),
        ("hour", &["five", "six", "half past six", "seven", "eight"]),
        (
            "stranger",
            &[
                "a tall man in a wet coat",
                "a lady with a parrot",
                "a pale young man with ink on his cuffs",
                "an elderly couple who held hands",
            ],
        ),
        ("river", &["the river", "the mill stream", "the canal", "the ferry landing"]),
    ],
    open: &[
        "At {$inn}, which stands beside {$river}, the fires are lit at {$hour} in the morning and go out when the last guest has gone to bed.",
        "{$inn} is known for its {$dish}, and people who live a day's journey away will tell you how it ought to taste.",
        "[One evening in {$season}|On a {$day} in {$season}|Late one {$day} in {$season}] {$inn} was so full that two of the guests were eating in the pantry.",
        "The kitchen of {$inn} has two ovens, one window and, in {$season}, more flies than anyone would think possible.",
        "There is a saying by {$river} that whoever has eaten the {$dish} at {$inn} will come back for the {$sweet}.",
        "All that {$season} there had been too few guests at {$inn}, and then, on a {$day}, there were far too many.",
    ],
    meet: &[
        "The kitchen was ruled by {A.full}, {A.role}, who had stood at that stove for {$years} years and would not cook without the {$tool} that {A.he} had been given by {$giver}.",
        "{A.full}, {A.role}, had two secrets: there was {$herb} in the {$dish}, and the {$tool} from which {A.he} was never parted had once belonged to {$giver}.",
        "Nobody remembered a time before {A.full}, {A.role}. For {$years} years {A.he} had put {$herb} into everything, and for {$years} years {A.he} had stirred it with the same {$tool}, a gift from {$giver}.",
        "In its kitchen the word of {A.full}, {A.role}, was law. ^{A.he} tasted each pot with the {$tool} which {$giver} had left {A.him}, added a little {$herb}, and never wrote anything down.",
    ],
    ambient: &[
        "Steam ran down the window in long crooked lines.",
        "The smell of {$herb} had crept up the stairs as far as the third floor.",
        "A pan lid was rattling as if it had something to say.",
        "Under the table the cat was waiting for someone to make a mistake.",
        "Flour lay on everything, even on the clock.",
        "From the dining room came the sound of chairs and of somebody singing.",
        "The loaves stood cooling in a row, each with a cross cut into its crust.",
        "A string of onions, which hung too low, was bumped by everyone who passed.",
        "Outside, a cart rolled over the bridge, and the cups trembled on their hooks.",
        "The soup, which had been on the fire since {$hour}, was beginning to smell as it should.",
        "There were eleven plates in the sink, and then there were twelve.",
        "Through the back door one could see {$river} and a strip of evening sky.",
    ],
    plots: &[
        // The lost taste.
        &[
            &[
                "One {$day} the {$dish} came back from the dining room, hardly touched.",
                "It had never happened before: somebody sent back the {$dish}.",
            ],
            &[
                "{A?} tasted it, put down the {$tool}, and tasted it again.",
                "{A?} stared at the plate as one stares at a dog that has bitten its master.",
            ],
            &[
                "It was not bad. It was only that it tasted of nothing in particular.",
                "There was salt in it, and there was pepper, and yet something was missing.",
            ],
            AMBIENT,
            BREAK,
            &[
                "\"What have you done differently?\" asked {B.full}, {B.role}, from a safe distance.¶\"Nothing,\" said {A}. \"I have done nothing differently for {$years} years.\"",
                "{B.full}, {B.role}, dipped a crust into the pot. \"Did you forget the {$herb}?\" {B.he} asked.¶\"I did not forget it,\" said {A}. \"I have not forgotten it once in {$years} years.\"",
            ],
            &[
                "{B?} opened the jar that was marked {$herb}, sniffed at it, and held it out. \"Smell this,\" {B.he} said.",
                "One after another they opened the jars on the shelf, until {B} came to the one in which the {$herb} was kept.",
            ],
            &[
                "It smelled of dust. The merchant, who had been paid in advance, had filled it with dried grass.",
                "Someone had filled it with tea leaves, and the tea, as they soon found out, had been full of {$herb} for a week.",
            ],
            BREAK,
            &[
                "That night {A} walked to the next village and came back with a bunch of fresh {$herb} under {A.his} coat.",
                "Before supper {B} was sent across {$river} to borrow some, and the {$dish} was begun again from the beginning.",
            ],
            &[
                "The guest who had complained was given a second helping and then a third.",
                "When it was served at last, an hour late, the dining room fell silent, which is the highest praise a dining room can give.",
            ],
        ],
        // The feast.
        &[
            &[
                "For {$feast} {A} was to cook for {$guests} people, and no more than half of them had been announced.",
                "{$guests} guests had been invited to {$feast}, which was to be held at {$inn} on {$day}.",
            ],
            &[
                "There was to be {$dish}, followed by {$sweet}, and there were to be no speeches.",
                "The order was simple enough: {$dish} for everyone, and afterwards {$sweet}.",
            ],
            AMBIENT,
            &[
                "At {$hour/2}, when the pots were full and the tables laid, the larger of the two ovens cracked from top to bottom.",
                "Everything was ready by {$hour/2}. Then the ceiling of the pantry fell in, quite slowly, on top of the {$sweet}.",
            ],
            BREAK,
            &[
                "\"We must tell them to go home,\" said {B.full}, {B.role}, who was as white as the tablecloths.",
                "{B.full}, {B.role}, sat down on a sack of flour. \"What shall we do now?\" {B.he} asked.",
            ],
            &[
                "\"Nobody has ever gone home hungry from {$inn},\" said {A}. \"How many eggs are there?\"",
                "\"We shall do what we always do,\" said {A}. \"We shall peel potatoes.\"",
            ],
            &[
                "There were a hundred and four. {B} counted them twice, and meanwhile {A} sent to every house along {$river} for butter.",
                "Word was sent along {$river}, and from every house came someone with a pan, a ham or a piece of advice.",
            ],
            &[
                "They worked side by side without speaking, and only once did {A} look up, to ask where the {$tool} was.",
                "{B}, who had never in {B.his} life cooked anything, was handed the {$tool} and told to stir and not to think.",
            ],
            BREAK,
            &[
                "What the guests were given in the end had no name. It was brown at the edges, it smelled of {$herb}, and not a crumb of it was left.",
                "The guests were told that it was an old recipe, which, by the following week, it was.",
            ],
            &[
                "It was agreed by all {$guests} of them that no better meal had been eaten in that room.",
                "There were speeches after all, and the longest of them was about eggs.",
            ],
        ],
        // The stranger.
        &[
            &[
                "When the door had already been locked, {$stranger} knocked at the window of {$inn} and asked for a bowl of soup.",
                "That evening the last to arrive at {$inn} was {$stranger}, who asked for nothing but bread and a corner to sit in.",
            ],
            &[
                "\"The kitchen is closed,\" said {B.full}, {B.role}, not very kindly.",
                "{B.full}, {B.role}, pointed at the clock and explained that the fires were out.",
            ],
            &[
                "\"A kitchen is never closed,\" said {A} from the stove. \"It only rests.\"",
                "But {A} had looked through the hatch and had already put a pot back on the embers.",
            ],
            AMBIENT,
            BREAK,
            &[
                "There was a little of the {$dish} left, and it was warmed with a spoonful of wine and more {$herb} than was usual.",
                "So the {$dish} was brought in, with the heel of a loaf, and after it a slice of {$sweet} that had been meant for {B}.",
            ],
            &[
                "Every drop of it was eaten, slowly, in silence, and the plate was wiped clean with bread.",
                "It was eaten with closed eyes, and for some time afterwards nothing was said.",
            ],
            &[
                "\"Where did you learn to make this?\" came the question at last.",
                "\"May I ask who taught you this?\" said the voice from the corner.",
            ],
            &[
                "{A?} held up the {$tool} and told the story of {$giver}, which {B} had heard so often that {B.he} could have told it backwards.",
                "\"It is all in the {$herb},\" said {A}, and told the story of {$giver} and the {$tool} once more from the beginning.",
            ],
            BREAK,
            &[
                "In the morning the corner was empty. Under the plate lay a gold coin and a page torn out of a notebook.",
                "By daybreak the room was empty and the bed had not been slept in, but a folded paper had been left on the pillow.",
            ],
            &[
                "On it was a drawing of the kitchen as it had been that night, with the steam, the cat and the onions, and {A} bending over the fire.",
                "It was the beginning of a song about {$inn}, and it is sung by {$river} to this day, though never by {A}.",
            ],
            &[
                "\"And I wanted to send that away,\" said {B}, and was quiet for the rest of the day.",
                "\"You see,\" said {A}. {B} saw, and from then on the door was locked an hour later.",
            ],
        ],
        // The apprentice's dish.
        &[
            &[
                "On {$day} {A} cut {A.his} hand so badly that the doctor forbade {A.him} to touch a knife for a week.",
                "It was in {$season} that {A}, who was never ill, woke with a fever and could not stand.",
            ],
            &[
                "\"Who will cook?\" everyone asked, and everyone looked at {B.full}, {B.role}.",
                "There were {$guests} guests in the house, and the only pair of hands left belonged to {B.full}, {B.role}.",
            ],
            &[
                "{B?} had carried plates, scrubbed pans and plucked geese, but had never been allowed near the {$dish}.",
                "\"I?\" said {B}. \"I can boil water, if somebody is there to help me.\"",
            ],
            AMBIENT,
            BREAK,
            &[
                "A chair was placed for {A} in the kitchen doorway, and from there {A.he} gave orders.",
                "{A?} had {A.himself} carried down, wrapped in a quilt, and lay on two benches beside the door.",
            ],
            &[
                "\"Less fire,\" {A.he} said. \"More {$herb}. Do not stir it as if you hated it.\"",
                "\"Do not look at me,\" said {A}. \"Look at the pot. What does it want?\"",
            ],
            &[
                "{B?} tasted, frowned, reached for the {$tool}, and then stopped and looked over {B.his} shoulder for permission.¶\"Take it,\" said {A}. \"It will not bite you.\"",
                "\"Is it salt?\" asked {B}, after a long time. \"Or is it patience?\"¶\"It is nearly always patience,\" said {A}, and held out the {$tool} to {B.him}.",
            ],
            BREAK,
            &[
                "The {$dish} that went out that evening was a little too salty, and no one left any of it.",
                "The first plate went out at {$hour/2}, and all of them listened at the hatch to hear what would be said.",
            ],
            &[
                "Someone asked whether there was a new cook at {$inn}. \"Not yet,\" said {A}.",
                "An old man who ate there every {$day} remarked that it was not the same, and asked for more.",
            ],
        ],
    ],
    close: &[
        "Late that night {A} washed the {$tool}, dried it, and laid it where {A.he} would find it in the dark.",
        "The {$dish} is still served at {$inn} every {$day}, and anyone who asks what is in it is told that it is made with care.",
        "\"Go to bed,\" said {A}, \"there will be people to feed tomorrow.\" And there were: {$guests} of them.",
        "{B} became a cook as well in the end, at another inn by {$river}, and uses {$herb} in everything.",
        "When the lamps had been put out, they sat down at the kitchen table, {A} and {B}, and shared what was left of the {$sweet}.",
        "It was the only time in {$years} years that anyone heard {A} sing.",
    ],
    frame: None,
};
