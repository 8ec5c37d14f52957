graph [
  directed 1
  multigraph 1
  node [
    id 0
    label "0"
    colour "plain"
  ]
  node [
    id 1
    label "1"
    colour "plain"
  ]
  node [
    id 2
    label "2"
    colour "plain"
  ]
  node [
    id 3
    label "3"
    colour "plain"
  ]
  edge [
    source 0
    target 1
    key 0
    weight 1.0
    note "n0"
  ]
  edge [
    source 0
    target 1
    key 1
    weight 2.0
    note "n1"
  ]
  edge [
    source 1
    target 0
    key 0
    weight 3.0
    note "n2"
  ]
  edge [
    source 1
    target 3
    key 0
    weight 6.0
    note "n5"
  ]
  edge [
    source 2
    target 2
    key 0
    weight 4.0
    note "n3"
  ]
  edge [
    source 2
    target 2
    key 1
    weight 5.0
    note "n4"
  ]
]
