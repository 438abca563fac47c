"""Exact assignment of slots to nested domains, as a CP-SAT model.

Sets
    s ∈ S    slots, numbered by trainer rank
    l ∈ L    levels, finest first; n ∈ N_l the domains of level l; a cell is a domain of level 0
    g ∈ R    rings, A all-to-alls, E pair links; g ∈ G groups that partition S (tp groups)
    k ∈ K    slices of a bridge, each with lanes U_k on the smaller and V_k on the larger side

Data
    W_l                weight of level l
    w_g                weight of a link of g
    size_n, usable_n   devices of cell n, and those not offline
    map(k,v) ∈ U_k     balanced partner of lane v

Variables (0-1 unless said)
    on[s,n]         slot s is in domain n
    touch[g,n]      g has a member in n
    whole[g,n]      all of g is in n
    count[g,n,j]    at least j members of g are in n
    both[e,n]       both ends of e are in n
    feeds[k,u,v]    lane v of slice k is tied to lane u

Subject to
    one_device[s]       Σ_{n∈N_0} on[s,n] ≤ 1
    group_shape[g]      Σ_{s∈g} Σ_{n∈N_0} on[s,n] = |g|                 g ∈ G
    capacity[n]         Σ_s on[s,n] ≤ size_n                            n ∈ N_0
    offline[n]          Σ_s on[s,n] ≤ usable_n                          n ∈ N_0
    aggregate[s,n]      on[s,n] = Σ_{m inside n} on[s,m]                n ∉ N_0
    lane[k,v]           Σ_u feeds[k,u,v] = 1,  feeds[k,map(k,v),v] = 1
    within, hierarchical_cp, footprint, contiguous, pins                see `constraints`
    touch[g,n]          on[s,n] ≤ touch[g,n] ≤ Σ_{r∈g} on[r,n]          s ∈ g
    whole[g,n]          whole[g,n] ≤ on[s,n]                            s ∈ g
    count[g,n]          Σ_j count[g,n,j] = Σ_{s∈g} on[s,n],  count[g,n,j+1] ≤ count[g,n,j]
    both[e,n]           both[e,n] ≤ on[u,n], on[v,n]; on a bridge, on[u,n] if feeds[k,u,v]
    redundant, symmetry: see `strengthen`; without them the optimum is the same

Minimise
    Σ_l W_l ( Σ_{g∈R} w_g Σ_n (touch[g,n] − whole[g,n])
            + Σ_{g∈A} w_g ( |g|(|g|−1)/2 − Σ_n Σ_j (j−1) count[g,n,j] )
            + Σ_{e∈E} w_e ( 1 − Σ_n both[e,n] ) )
"""

from planner_models.assignment.conflict import Conflict, conflict
from planner_models.assignment.data import (
    Assignment,
    Bridge,
    Contiguous,
    Floor,
    Footprint,
    Groups,
    Level,
    Pairs,
    Pin,
    Within,
)
from planner_models.assignment.evaluate import cost, devices, links_cost
from planner_models.assignment.formulation import Neighbourhood
from planner_models.assignment.model import FAMILIES, build
from planner_models.assignment.search import Limits, Result, solve

__all__ = [
    "FAMILIES",
    "Assignment",
    "Bridge",
    "Conflict",
    "Contiguous",
    "Floor",
    "Footprint",
    "Groups",
    "Level",
    "Limits",
    "Neighbourhood",
    "Pairs",
    "Pin",
    "Result",
    "Within",
    "build",
    "conflict",
    "cost",
    "devices",
    "links_cost",
    "solve",
]
