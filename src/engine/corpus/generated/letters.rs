//! Family letters: the same kind of prose in the first person, with a greeting and a signature.

use super::{
    Generated, Recipe,
    writer::{AMBIENT, BREAK, Domain},
};

/// Corpus `letters`.
pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "letters",
    title: "Letters",
    about: "Letters home in the first person: neighbours, a case at court, a concert.",
    recipe: Recipe::Prose(&[&LETTERS]),
};

pub(super) const LETTERS: Domain = Domain {
    roles: &["the writer"],
    mates: &["the reader"],
    lexicon: &[
        ("place", &["Aldwater", "Brennock", "Saint Olave", "Thornbridge", "Marrowdale", "Castle Pell", "Little Haven"]),
        (
            "work",
            &[
                "a clerk at the court",
                "a teacher at the village school",
                "a secretary to the judge",
                "a copyist in the archive",
                "an assistant at the pharmacy",
            ],
        ),
        (
            "room",
            &[
                "a room above a bookbinder",
                "two rooms at the top of a tower",
                "a room that looks out on the cattle market",
                "the smallest room in the house of a widow",
            ],
        ),
        ("man", &["Mr. Pell", "Doctor Amory", "old Mr. Harcourt", "Mr. Winterbourne", "Captain Rudd"]),
        ("woman", &["Miss Lavender", "Mrs. Dunmore", "Aunt Cecily", "Madame Orlov", "Miss Trench"]),
        ("animal", &["parrot", "terrier", "tortoise", "goose", "grey cat"]),
        ("thing", &["umbrella", "green inkwell", "walking stick", "music box", "blue teapot", "atlas"]),
        ("weeks", &["three", "four", "five", "six", "seven"]),
        ("day", &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]),
        ("month", &["February", "April", "May", "July", "September", "November"]),
        ("sum", &["nine", "fourteen", "thirty", "forty-five", "eighty"]),
        ("coin", &["crowns", "shillings", "guilders"]),
        ("weather", &["rain", "snow", "fog", "sleet"]),
        ("music", &["the flute", "the cello", "the violin", "the piano"]),
    ],
    open: &[
        "I have been in {$place} for {$weeks} weeks now, and I have at last found somewhere to live: {$room}.",
        "Your letter of {$month} reached me on {$day}, much later than it should have, because the post coach was held up by {$weather}.",
        "You ask whether {$place} is as dull as people say. It is not, or at least not on a {$day}.",
        "Forgive me for not having written sooner. Since I became {$work}, I have had ink on my hands all day and no wish to see any in the evening.",
        "There has been nothing but {$weather} here since {$month}, and I have had time to think about home.",
        "I promised to tell you everything, and so I shall, beginning with the table at which I am sitting at this moment.",
    ],
    meet: &[
        "As for my work, I am {$work}, and the person who gives me my orders is {$man}. He owns @ {$thing} of which he is prouder than of his children, and he lends it to nobody. In the evenings I have my neighbour {$woman} for company, and her {$animal}.",
        "You would like my neighbour {$woman}, who plays {$music} every evening at nine and keeps @ {$animal}. She says that of the two the {$animal} has the better ear. For {$man}, who goes nowhere without @ {$thing}, she has no kind word.",
        "I must introduce two people, since you will hear of them again. {$man} is the one with the {$thing}, and {$woman} is the one with the {$animal}.",
        "Downstairs lives {$woman} with @ {$animal}, and across the street lives {$man}, who is never seen without @ {$thing}. They have not spoken to each other for {$weeks} years.",
    ],
    ambient: &[
        "As I write this, someone below my window is selling chestnuts.",
        "The {$weather} has gone, and the roofs are shining.",
        "I wish that you could see the street from here, with all its lamps.",
        "My candle is short, so I shall be quick.",
        "Do you remember the yellow house by the bridge? There is one here that is exactly like it.",
        "The bread here is good, and the coffee is not.",
        "Every night at ten a watchman passes, and every night he coughs twice at the corner.",
        "I have bought a pair of boots that do not fit, because they were cheap and I was proud.",
        "Nobody in {$place} walks slowly except me.",
        "I think of your kitchen more often than I should.",
        "The moon is up, and it is the same one that you have, which is a comfort.",
    ],
    plots: &[
        // The missing thing.
        &[
            BREAK,
            &[
                "Now I must tell you what has happened. On {$day} the {$thing} that belongs to {$man} was found to be missing.",
                "Something dreadful happened on {$day}: {$man} came to work without the {$thing}.",
            ],
            &[
                "He searched every cupboard, he questioned everyone who had been in the building, and he did not eat his lunch.",
                "He accused the porter, then the porter's wife, and at last, very politely, me.",
            ],
            AMBIENT,
            &[
                "\"Have you seen it?\" he asked me. \"I had it when I left the house.\" I said that I had not, which was true.",
                "\"It was worth {$sum} {$coin},\" he kept saying, \"and it belonged to my father.\" What could I answer?",
            ],
            BREAK,
            &[
                "In the evening I told the story to {$woman}, who listened with her head on one side.",
                "It was {$woman}, of all people, who solved the riddle.",
            ],
            &[
                "\"Is it about so long,\" she asked, \"and does it smell a little of tobacco?\"",
                "\"Come with me,\" she said, and led me to the basket in which the {$animal} sleeps.",
            ],
            &[
                "There it lay, under the {$animal}, hardly scratched. How it had got there nobody will ever know.",
                "The {$animal} had been sitting on it since the morning and would not get up for anything less than a piece of cheese.",
            ],
            BREAK,
            &[
                "I carried it back to {$man}, who wept, gave me {$sum} {$coin}, and made me promise to tell no one. You are the only exception.",
                "When I brought it to {$man} the next day, he shook my hand for so long that I thought he had forgotten that it was mine.",
            ],
        ],
        // The concert.
        &[
            BREAK,
            &[
                "The great event of the week was a concert, at which {$woman} was to play {$music} before the whole of {$place}. She had practised for {$weeks} weeks, so that everyone in the building could whistle every note of it.",
                "You will hardly believe it, but I have been to a concert, and I was almost part of it. It was given by {$woman}, who plays {$music} and had not performed in public since she was a girl.",
            ],
            &[
                "I was asked to turn the pages, although I had told her twice that I cannot read music.",
                "I was given a seat in the first row, next to {$man}, who had paid {$sum} {$coin} for his and wished everyone to know it.",
            ],
            AMBIENT,
            BREAK,
            &[
                "All went well until the slow movement, when the {$animal}, which had been left at home, walked in through the open door.",
                "In the middle of the slow movement there was a noise at the back, and who should come down the aisle but the {$animal}?",
            ],
            &[
                "Nobody moved. It climbed the three steps to the stage, sat down beside her, and began to sing.",
                "It looked neither to the left nor to the right, went straight up to her, and lay down on her feet.",
            ],
            &[
                "\"Shall I stop?\" she whispered. \"On no account,\" I whispered back.",
                "She did not miss a single note, and I have never admired anyone so much.",
            ],
            BREAK,
            &[
                "People stood on their chairs to applaud, and {$man} was seen to wave the {$thing} above his head.",
                "The newspaper wrote that the second performer had been a little flat, but full of feeling.",
            ],
            &[
                "Since then strangers have greeted her in the street, and she pretends that it is a nuisance.",
                "She has been asked to play again in {$month}, on the condition that both of them come.",
            ],
        ],
        // The case at court.
        &[
            BREAK,
            &[
                "Everyone here is talking about the case that was heard on {$day}.",
                "I must tell you about a case that was decided here last week, since it will make you laugh.",
            ],
            &[
                "{$man} had sued {$woman} for {$sum} {$coin}, because her {$animal}, he said, had ruined his {$thing}.",
                "It was brought by {$man} against {$woman}, and what they were quarrelling about was @ {$thing} worth {$sum} {$coin}.",
            ],
            &[
                "She replied that the {$animal} was innocent, and brought it with her to prove it.",
                "She did not deny that the {$animal} had been in the room, but maintained that it had been invited.",
            ],
            AMBIENT,
            BREAK,
            &[
                "\"Can the witness be trusted?\" the judge asked, looking down at it over his glasses.",
                "The judge, who is deaf in one ear, asked three times who was accused and of what.",
            ],
            &[
                "At this the {$animal} walked across the courtroom and lay down on the feet of {$man}, whom it had clearly known for years.",
                "It was then that the {$animal} did something which settled the matter. It went up to {$man} and put its head in his lap.",
            ],
            &[
                "\"He feeds it,\" cried {$woman}. \"He has been feeding it in secret all this time!\"",
                "It turned out that he had been feeding it every night, and that he had sued her only in order to have a reason to speak to her.",
            ],
            BREAK,
            &[
                "The case was dismissed, and the costs, {$sum} {$coin}, were divided between them.",
                "The judge sent everyone home. He added that in {$weeks} years he had never heard so much nonsense or enjoyed it so much.",
            ],
            &[
                "They were seen on {$day} walking by the river, the three of them, under one umbrella.",
                "It is said that they are to be married in {$month}. I have been asked to hold the {$animal}.",
            ],
        ],
        // Homesick.
        &[
            BREAK,
            &[
                "On {$day} I was so homesick that I walked to the coach station only to look at the board on which the name of our town is written. It was {$woman} who found me there. She had the {$animal} under one arm and a loaf of bread under the other.",
                "I confess that I have not always been happy here. On {$day} I packed my bag, and on {$day/2} I unpacked it again. It was {$man} who talked me out of it, although he did not know that he was doing so.",
            ],
            AMBIENT,
            BREAK,
            &[
                "\"When I first came to {$place},\" I was told, \"I cried for {$weeks} weeks, and then I ran out of handkerchiefs.\"",
                "\"Nobody likes {$place} for the first {$weeks} weeks,\" I was told. \"After that one forgets to dislike it.\"",
            ],
            &[
                "I laughed in spite of myself. Then we walked home the long way round, past the mill and the chapel and the school.",
                "I did not believe a word of it, but I was glad that it had been said.",
            ],
            &[
                "That evening I was invited to supper. There was soup, there was music, and there were two people who argued about the weather as if it could be changed.",
                "In the evening there was a knock at my door, and outside it stood a covered dish, still warm, with no name on it.",
            ],
            AMBIENT,
            BREAK,
            &[
                "So I have decided to stay until {$month} at least, and perhaps for longer.",
                "I shall stay, then. You may tell Mother that I am eating well, and that I have bought a lamp.",
            ],
            &[
                "With this letter you will find {$sum} {$coin}, which I have saved. Please do not send them back.",
                "If you can spare it, send me the brown blanket, and send me news, even if there is none.",
            ],
        ],
    ],
    close: &[
        "Write soon, and tell me whether the pear tree is still standing. It is late, and {$woman} has stopped playing {$music}.",
        "Greet everyone from me. I shall be home in {$month}, if the roads are open, and I shall bring you something from {$place}.",
        "I must stop here, since {$man} needs me at seven, with clean hands and a sharp pen.",
        "The {$animal} sends its regards, or so I am told, and I send you mine.",
        "Keep this letter. One day, when I have forgotten {$place} and everyone in it, you may read it aloud to me.",
        "Do not worry about me. I have a lamp, a window, and {$sum} {$coin}, and there are people here who know my name.",
    ],
    frame: Some(("[Dear|My dear|Dearest] {B},", "[Your|Ever your|With love, your] {A}")),
};
