graph [
  node [
    id 0
    label "0"
    part 0
    phase 0.0
  ]
  node [
    id 1
    label "1"
    part 0
    phase 1.E-09
  ]
  node [
    id 2
    label "2"
    part 0
    phase 2.E-09
  ]
  node [
    id 3
    label "3"
    part 0
    phase 3.0000000000000004E-09
  ]
  node [
    id 4
    label "4"
    part 1
    phase 4.E-09
  ]
  node [
    id 5
    label "5"
    part 1
    phase 5.E-09
  ]
  node [
    id 6
    label "6"
    part 1
    phase 6.000000000000001E-09
  ]
  node [
    id 7
    label "7"
    part 1
    phase 7.000000000000001E-09
  ]
  edge [
    source 0
    target 1
    seen 1
  ]
  edge [
    source 1
    target 2
    seen 0
  ]
  edge [
    source 2
    target 3
    seen 0
  ]
  edge [
    source 3
    target 3
    seen 1
  ]
  edge [
    source 4
    target 5
    seen 0
  ]
  edge [
    source 5
    target 6
    seen 0
  ]
  edge [
    source 6
    target 7
    seen 1
  ]
]
