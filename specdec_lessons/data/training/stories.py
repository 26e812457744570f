"""A grammar of short stories: the text that the course's real models have read.

Each story keeps a small world in which somebody has something, loses it, swaps it or gives it away, and the
sentences report that world: names come back, "he" and "she" agree, the red kite stays red, and the last
sentences say truly who has what. Set phrases make easy places, names, things and choices hard ones.
All of it follows from a seed::

    python stories.py 0 3        # three stories of seed 0
"""

import random
import sys

END = "¶"

WOMEN = """anna mary ruth clara ida nora emma lucy rosa greta vera olga hanna jane alice edith martha frida
sara tilda agnes betty cora dora ella flora gerda hilda irma julia""".split()
MEN = """tom peter jack oscar hugo felix leo max henry otto paul emil arthur ben carl simon david george frank
walter adam bruno caspar daniel edgar fritz hans ivan john karl""".split()
JOBS = """baker farmer teacher doctor sailor tailor painter miller singer hunter gardener postman fisherman
shepherd carpenter smith cook nurse clockmaker student
weaver potter barber butcher soldier pilot writer""".split()
THINGS = """kite ball lamp hat coat key ring book letter drum flute bell boat rope spoon cup basket map clock
mirror box coin knife ladder bucket brush candle chair blanket umbrella whistle shoe glove scarf violin wheel
lantern bottle pen doll hammer needle carpet candlestick drawing pillow saddle pot kettle plate ribbon
telescope compass""".split()
LOOKS = """red blue green yellow white black brown grey golden silver old new big small long heavy light
broken round wooden shiny tiny purple orange soft iron paper striped""".split()
FOODS = """apple pear cake loaf pie egg plum carrot cheese fish nut sausage bun onion potato melon cookie
sandwich lemon turnip pancake""".split()
PLACES = """river forest market bridge church school mill harbour station garden field hill lake beach well
tower castle inn barn park library bakery village square cave meadow orchard pond road island theatre
lighthouse valley hotel farm museum bank fountain palace shop""".split()
HIDING = """bench bush tree stone table bed hedge cart wall fence stairs bridge roof sack""".split()
ANIMALS = """dog cat goat fox crow duck horse mouse cow goose rabbit squirrel hen owl donkey pig frog sheep
wolf bear swan parrot hedgehog badger""".split()
KIN = """brother sister mother father uncle aunt cousin neighbour friend grandmother grandfather
teacher""".split()
SHE = {"sister", "mother", "aunt", "grandmother"}
WEATHER = """sunny rainy windy cold warm foggy snowy stormy quiet bright grey frosty""".split()
TIMES = "morning evening afternoon day night monday tuesday friday saturday sunday".split()
FEELINGS = "happy glad proud tired hungry angry sad afraid surprised curious lonely thirsty".split()
MANNERS = "slowly quickly quietly loudly carefully politely kindly sadly happily softly".split()
NUMBERS = "two three four five six seven ten twelve".split()

OPENINGS = [
    "once upon a time there was a {job} called {hero} .",
    "once upon a time there lived a {job} whose name was {hero} .",
    "in a {size} house near the {home} lived a {job} called {hero} .",
    "{hero} was a {job} who lived near the {home} .",
    "a long time ago , a {feeling} {job} called {hero} lived by the {home} .",
]
HAVING = [
    "{he} had a {look} {thing} , and {he} took it with {him} wherever {he} went .",
    "of all the things in the world , {he} loved {his} {look} {thing} the most .",
    "{his} {kin} had given {him} a {look} {thing} when {he} was {number} years old .",
    "every {time} {he} took {his} {look} {thing} to the {place} .",
    "{he} did not have much , but {he} had a {look} {thing} .",
]
SETTING_OUT = [
    "one {weather} {time} , {hero} went to the {place} with the {look} {thing} .",
    "one {weather} {time} {he} walked all the way to the {place} .",
    "on a {weather} {time} , {hero} took the {look} {thing} and went to the {place} .",
    "then , one {weather} {time} , {hero} set out for the {place} .",
]
MEETING = [
    "at the {place} {he} met {friend} , {his} {kin2} .",
    "there {he} met {his} {kin2} {friend} .",
    "near the {place} {he} saw {friend} the {job2} , who was {feeling2} .",
    "on the way {he} met {friend} , who had a {look2} {thing2} .",
]
GREETING = [
    "good {daytime} , said {friend} . good {daytime} , said {hero} .",
    "good {daytime} , {hero} , said {friend} {manner} .",
    "where are you going ? asked {friend} . i am going to the {place2} , said {hero} .",
    "what a {weather} day it is , said {friend} .",
    "how are you ? asked {friend} . i am {feeling3} , said {hero} .",
]
LOSING = [
    "but on the way home {he} lost the {thing} .",
    "but when {he} came to the {place2} , the {thing} was gone .",
    "{he} put the {thing} under a {hiding} and fell asleep . when {he} woke up , the {thing} was gone .",
    "but a {animal} came , took the {thing} and ran away to the {place2} .",
]
SEARCHING = [
    "{hero} looked for the {look} {thing} everywhere , but {he} could not find it .",
    "{he} looked in the house , {he} looked in the {home} , and {he} looked behind the {hiding} .",
    "{hero} was very {sadness} and went from door to door .",
    "{he} looked for it for {number} days and {number2} nights .",
]
ASKING = [
    "have you seen my {look} {thing} ? asked {hero} .",
    "i have lost my {look} {thing} , said {hero} . can you help me ?",
    "dear {friend} , said {hero} , have you seen my {thing} ?",
]
ANSWER_YES = [
    "yes , said {friend} , i saw a {look} {thing} at the {place3} .",
    "yes , said {friend} . a {animal} has it , and the {animal} lives near the {place3} .",
    "i think so , said {friend} . look under the {hiding2} by the {place3} .",
]
ANSWER_NO = [
    "no , said {friend} , i have not seen it , but i will help you .",
    "no , said {friend} {manner} . but ask {third} , who sees everything .",
    "i am sorry , said {friend} , but i have not seen your {thing} .",
]
TOGETHER = [
    "so {hero} and {friend} went to the {place3} together .",
    "so they walked to the {place3} , and they sang all the way .",
    "{hero} and {friend} walked for {number} hours until they came to the {place3} .",
]
FOUND_BY_HERO = [
    "there , under a {hiding2} , {hero} found the {look} {thing} .",
    "there it was at last . {hero} picked up the {look} {thing} and laughed .",
    "a {animal} was sitting there with the {thing} , and {hero} gave the {animal} a {food} for it .",
]
FOUND_BY_FRIEND = [
    "there , behind the {hiding2} , {friend} found the {look} {thing} .",
    "there {friend} found the {look} {thing} and gave it to {hero} .",
]
THANKS = [
    "thank you , {friend} , said {hero} . you are a good {kin2} .",
    "thank you , said {hero} , and gave {friend} a {food} .",
    "thank you very much , said {hero} {manner} .",
    "{hero} thanked {friend} and gave {him2} a {food} and a {food2} .",
]
FRIEND_HAS = [
    "{friend} had a {look2} {thing2} in {his2} bag .",
    "{friend} was carrying a {look2} {thing2} .",
    "now {friend} had a {look2} {thing2} , and {he2} was tired of it .",
]
SWAP_OFFER = [
    "give me your {thing} , said {friend} , and i will give you my {thing2} .",
    "will you give me the {look} {thing} for my {look2} {thing2} ? asked {friend} .",
    "i like your {thing} , said {friend} . do you like my {thing2} ?",
]
SWAP_YES = [
    "yes , said {hero} , and {he} gave {friend} the {thing} and took the {thing2} .",
    "{hero} thought about it for a while . yes , {he} said {manner} , and so they did .",
]
SWAP_NO = [
    "no , said {hero} , i will never give away my {thing} .",
    "{hero} thought about it for a while . no , {he} said {manner} , and kept the {thing} .",
]
LENDING = [
    "may i have your {thing} until {day} ? asked {friend} . "
    "yes , said {hero} , and gave {him2} the {look} {thing} .",
    "{friend} needed a {thing} , and so {hero} gave {him2} the {look} {thing} until {day} .",
]
RETURNED = [
    "on {day} {friend} came to the house of {hero} and brought back the {look} {thing} .",
    "on {day} {friend} kept {his2} word and brought the {thing} back .",
]
NOT_RETURNED = [
    "on {day} {hero} waited for {friend} , but {friend} did not come back .",
    "but on {day} {friend} had already sold the {thing} to {third} for {number} coins .",
]
GIVING = [
    "it was the birthday of {friend} , and {hero} gave {him2} the {look} {thing} .",
    "{friend} was so {sadness} that {hero} gave {him2} the {look} {thing} .",
    "you may have my {look} {thing} , said {hero} to {friend} , for you are my {kin2} .",
]
PASSING_ON = [
    "the next day {friend} gave the {thing} to {third} , {his2} {kin3} .",
    "but {friend} did not need a {thing} and gave it to {third} the {job2} .",
]
KEEPING = [
    "{friend} was so {joy} that {he2} danced around the {hiding} .",
    "{friend} put the {thing} on the table and looked at it for {number} hours .",
]
MORALS = [
    "and from that day on they were the best of friends .",
    "and they lived happily ever after .",
    "and that is the end of the story .",
    "and nobody was ever {sadness} again .",
    "what a {weather} day it had been !",
]


def pick(rng, words, *not_these):
    """One of the words, the early ones oftener: the n-th weighs 1 / (n + 3)."""
    while True:
        word = rng.choices(words, [1 / (n + 3) for n in range(len(words))])[0]
        if word not in not_these:
            return word


def person(rng, *not_these):
    """A name and its three pronouns."""
    if rng.random() < 0.5:
        return pick(rng, WOMEN, *not_these), ("she", "her", "her")
    return pick(rng, MEN, *not_these), ("he", "him", "his")


def cast(rng):
    """Everything that a story's templates may name, chosen once for the whole story."""
    hero, pronouns = person(rng)
    friend, pronouns2 = person(rng, hero)
    third, _ = person(rng, hero, friend)
    kin2 = pick(rng, [kin for kin in KIN if (kin in SHE) == (friend in WOMEN) or kin in (
        "cousin", "neighbour", "friend", "teacher")])
    kin3 = pick(rng, ["neighbour", "friend", "cousin", "teacher"])
    home = pick(rng, PLACES)
    place = pick(rng, PLACES, home)
    place2 = pick(rng, PLACES, home, place)
    place3 = pick(rng, PLACES, home, place, place2)
    thing, look = pick(rng, THINGS), pick(rng, LOOKS)
    food = pick(rng, FOODS)
    food2 = pick(rng, FOODS, food)
    names = dict(
        hero=hero, friend=friend, third=third, home=home, place=place, place2=place2, place3=place3,
        thing=thing, look=look, thing2=pick(rng, THINGS, thing), look2=pick(rng, LOOKS, look),
        job=pick(rng, JOBS), job2=pick(rng, JOBS), kin=pick(rng, KIN), kin2=kin2, kin3=kin3,
        size=rng.choice(["small", "big", "little", "white", "crooked"]), food=food, food2=food2,
        hiding=pick(rng, HIDING), hiding2=pick(rng, HIDING), animal=pick(rng, ANIMALS),
        weather=pick(rng, WEATHER), time=pick(rng, TIMES),
        daytime=rng.choice(["morning", "morning", "evening"]), day=rng.choice(["monday", "friday", "sunday"]),
        feeling=pick(rng, FEELINGS), feeling2=pick(rng, FEELINGS), feeling3=pick(rng, FEELINGS),
        manner=pick(rng, MANNERS), number=pick(rng, NUMBERS),
        number2=pick(rng, NUMBERS), sadness=rng.choice(["sad", "sad", "unhappy"]),
        joy=rng.choice(["happy", "glad"]),
    )
    names |= dict(zip(("he", "him", "his"), pronouns)) | dict(zip(("he2", "him2", "his2"), pronouns2))
    return names


def articles(words):
    """The words, each "a" before a vowel turned into "an"."""
    vowel_next = [word[0] in "aeiou" for word in (*words[1:], "-")]
    return ["an" if word == "a" and vowel else word for word, vowel in zip(words, vowel_next)]


def lost_and_found(rng, names, say):
    """The hero loses the thing and gets it back, mostly."""
    say(LOSING)
    say(SEARCHING)
    say(MEETING[:3])
    say(ASKING)
    if rng.random() < 0.6:
        say(ANSWER_YES)
        say(TOGETHER)
        say(FOUND_BY_HERO if rng.random() < 0.6 else FOUND_BY_FRIEND)
        say(THANKS)
        return {"thing": "hero"}
    say(ANSWER_NO)
    if rng.random() < 0.5:
        say(TOGETHER)
        say(FOUND_BY_FRIEND)
        say(THANKS)
        return {"thing": "hero"}
    return {"thing": None}


def swap(rng, names, say):
    """The friend wants the thing for another one."""
    say(MEETING[:3])
    say(FRIEND_HAS)
    if rng.random() < 0.5:
        say(GREETING)
    say(SWAP_OFFER)
    if rng.random() < 0.7:
        say(SWAP_YES)
        return {"thing": "friend", "thing2": "hero"}
    say(SWAP_NO)
    return {"thing": "hero", "thing2": "friend"}


def loan(rng, names, say):
    """The friend takes the thing for some days and brings it back, or does not."""
    say(MEETING[:3])
    say(GREETING)
    say(LENDING)
    if rng.random() < 0.6:
        say(RETURNED)
        say(["thank you , {hero} , said {friend} , and gave {him} a {food} ."])
        return {"thing": "hero"}
    sold = rng.random() < 0.5
    say(NOT_RETURNED[sold:sold + 1])
    return {"thing": "third" if sold else "friend"}


def gift(rng, names, say):
    """The hero gives the thing away, and it may wander on."""
    say(MEETING[:3])
    if rng.random() < 0.6:
        say(GREETING)
    say(GIVING)
    if rng.random() < 0.4:
        say(PASSING_ON)
        return {"thing": "third"}
    say(KEEPING)
    return {"thing": "friend"}


def ending(rng, names, owners, say):
    """Who has what now, and a moral."""
    parts = []
    for thing, look in (("thing", "look"), ("thing2", "look2")):
        if owners.get(thing):
            what = f"{{{look}}} {{{thing}}}" if rng.random() < 0.5 else f"{{{thing}}}"
            parts.append(f"{{{owners[thing]}}} had the {what}")
    if parts:
        say(["in the end " + " and ".join(parts) + " ."])
    else:
        say(["and nobody ever saw the {look} {thing} again ."])
    say(MORALS)


def story(rng):
    """One story as a list of words and marks, without the mark of its end."""
    names, words = cast(rng), []

    def say(templates):
        words.extend(articles(rng.choice(templates).format(**names).split()))

    say(OPENINGS)
    say(HAVING)
    say(SETTING_OUT)
    plot = rng.choices([lost_and_found, swap, loan, gift], [4, 3, 2, 2])[0]
    ending(rng, names, plot(rng, names, say), say)
    return words


def stories(seed, number):
    """``number`` stories, each followed by END, in one list."""
    rng = random.Random(seed)
    return [word for _ in range(number) for word in (*story(rng), END)]


if __name__ == "__main__":
    print(" ".join(stories(*map(int, sys.argv[1:3]))).replace(END, END + "\n"))
