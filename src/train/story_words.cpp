// The words of the embedded stories. A mark behind a colon says the gender (he, she) or the word for being there.
#include "train/story_grammar.h"

namespace reckon {

const std::vector<WordList>& story_word_lists() {
  static const std::vector<WordList> lists = {
      {"hero friend", true,
       "Tom:he, Ben:he, Max:he, Sam:he, Leo:he, Finn:he, Jack:he, Oscar:he, Hugo:he, Noah:he, Theo:he, Eli:he, "
       "Adam:he, "
       "Luke:he, Omar:he, Milo:he, Lily:she, Anna:she, Mia:she, Zoe:she, Ella:she, Ruby:she, Nina:she, Clara:she, "
       "Rosa:she, Ivy:she, Maya:she, Emma:she, Lucy:she, Hana:she, Sofia:she, Greta:she"},
      {"helper", true, "Mom:she, Dad:he, Grandma:she, Grandpa:he"},
      {"adult", true,
       "the baker:he, the farmer:she, the teacher:she, the gardener:he, the doctor:she, the old sailor:he, the "
       "painter:he, "
       "the librarian:she, the shepherd:he, the postman:he"},
      {"animal", true,
       "cat, dog, rabbit, duck, squirrel, hedgehog, pony, turtle, frog, kitten, puppy, goose, mouse, goat, owl, lamb"},
      {"thing", true,
       "ball, kite, drum, doll, boat, train, hat, book, teddy bear, robot, puzzle, wagon, umbrella, lantern, whistle, "
       "scarf, bucket, spinning top, marble, yo-yo"},
      {"food", true, "cake, pie, apple, sandwich, orange, pancake, cookie, muffin, pear, bun, egg, banana"},
      {"place", true,
       "the park:in, the garden:in, the forest:in, the village:in, the yard:in, the meadow:in, the beach:at, the "
       "farm:on, "
       "the hill:on, the lake:by, the river:by, the pond:by, the old bridge:by, the playground:at, the market:at"},
      {"trait", true, "kind, brave, clever, shy, quiet, curious, gentle, cheerful, careful, friendly, patient, lively"},
      {"color", true, "red, blue, green, yellow, white, orange, purple, brown"},
      {"look", false, "big, small, shiny, pretty, new, old, soft, funny, strange, little"},
      {"size", false, "small, little, tiny, big, fluffy, round, thin, young"},
      {"glad", false, "happy, glad, proud, excited, cheerful, pleased"},
      {"upset", false, "sad, worried, upset, lonely, unhappy, cross"},
      {"day", false, "One day, One morning, One afternoon, One evening, One summer day, One winter day, One Sunday"},
      {"weather", false, "sunny, warm, windy, cloudy, cool, bright, foggy"},
      {"went", false, "walked, ran, skipped, hurried, went, hopped, marched"},
      {"slowly", false, "slowly, quickly, quietly, carefully, gently, softly, happily"},
      {"hidden", false,
       "under the bench, behind the tree, inside an empty box, under a pile of leaves, behind the door, next to the "
       "fence, "
       "in the tall grass, under the stairs, on top of the wall, behind a big stone"},
      {"searched", false,
       "under the bed, behind the shed, in the kitchen, under the table, near the gate, between the flowers, "
       "in every corner, along the path"},
      {"game", false, "hide and seek, tag, catch, pirates, leapfrog, marbles, explorers, school"},
      {"skill", true,
       "ride a bike, swim, tie a knot, climb a tree, bake bread, paint a bird, play the flute, skip a stone, fly a "
       "plane of "
       "paper, whistle a tune"},
      {"work", true,
       "a sand castle, a tree house, a snowman, a raft, a tent, a tower, a bird house, a bridge of sticks"},
      {"seed", true, "bean, pumpkin, sunflower, carrot, rose, tomato"},
      {"noise", true, "a loud bang, a soft scratch, a long howl, a deep rumble, a sharp knock, a quiet hum"},
      {"treasure", true, "an old coin, a silver key, a box of beads, a golden button, a bag of shells, a letter"},
      {"number", false, "two, three, four, five, six, seven, ten"},
  };
  return lists;
}

}  // namespace reckon
