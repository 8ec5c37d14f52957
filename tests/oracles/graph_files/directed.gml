graph [
  directed 1
  node [
    id 0
    label "salt"
    kind "a"
    mass -0.25
    count 0
    ripe 1
  ]
  node [
    id 1
    label "r&#228;ude"
    kind "b"
    mass 0.25
    count 3
    ripe 0
  ]
  node [
    id 2
    label "a &#34;quoted&#34; &#38; <odd> one"
    kind "c"
    mass 0.75
    count 6
    ripe 1
  ]
  node [
    id 3
    label "d"
    kind "a"
    mass 1.25
    count 9
    ripe 0
  ]
  node [
    id 4
    label "e"
    kind "b"
    mass 1.75
    count 12
    ripe 1
  ]
  node [
    id 5
    label "alone"
    kind "c"
    mass 2.25
    count 15
    ripe 0
  ]
  edge [
    source 0
    target 1
    weight 0.125
    how "raises"
    age 0
  ]
  edge [
    source 0
    target 0
    weight 0.375
    how "raises"
    age 2
  ]
  edge [
    source 1
    target 0
    weight 0.25
    how "lowers"
    age 1
  ]
  edge [
    source 3
    target 4
    weight 0.5
    how "lowers"
    age 3
  ]
  edge [
    source 4
    target 2
    weight 0.625
    how "raises"
    age 4
  ]
]
