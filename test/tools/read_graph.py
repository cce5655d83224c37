#!/usr/bin/python3
"""Reads a graph as others do, and prints it as JSON.

usage: read_graph.py FILE

GraphML, with the XML parser of the standard library: {"graph", "nodes": {id: values}, "edges": [{"from",
"to", ...}]}, and compared with what NetworkX reads of it. SVG: {"texts": [...], "titles": [...]}. Ends
with status 1 and a line for each difference or thing out of order.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree

import networkx

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
SVG = "{http://www.w3.org/2000/svg}"
TYPES = {"long": int, "double": float, "string": str}


def read_graphml(root):
    keys = {}
    for key in root.findall(GRAPHML + "key"):
        if key.get("id") in keys:
            sys.exit("key %s twice" % key.get("id"))
        keys[key.get("id")] = (key.get("attr.name"), key.get("attr.type"), key.get("for"))

    def values(element, of):
        out = {}
        for data in element.findall(GRAPHML + "data"):
            name, kind, belongs = keys[data.get("key")]
            if belongs != of:
                sys.exit("key %s is not of a %s" % (data.get("key"), of))
            if name is not None:
                out[name] = TYPES[kind](data.text or "")
        return out

    graph = root.find(GRAPHML + "graph")
    nodes = {node.get("id"): values(node, "node") for node in graph.findall(GRAPHML + "node")}
    if len(nodes) != len(graph.findall(GRAPHML + "node")):
        sys.exit("two nodes have one id")
    edges = [dict(values(edge, "edge"), **{"from": edge.get("source"), "to": edge.get("target")})
             for edge in graph.findall(GRAPHML + "edge")]
    return {"graph": values(graph, "graph"), "nodes": nodes, "edges": edges}


def compare_with_networkx(path, own):
    graph = networkx.read_graphml(path)
    differences = []
    if not graph.is_directed() or graph.is_multigraph():
        differences.append("not one directed edge for each two nodes")
    if set(graph.nodes) != set(own["nodes"]):
        differences.append("nodes differ")
    for node, values in graph.nodes(data=True):
        for name, value in own["nodes"].get(node, {}).items():
            # Of yEd's labels it knows a part only, under the same name.
            if name != "label" and values.get(name) != value:
                differences.append("%s %s: %r" % (node, name, values.get(name)))
    if {(edge["from"], edge["to"]) for edge in own["edges"]} != set(graph.edges):
        differences.append("edges differ")
    for edge in own["edges"]:
        if graph.edges[edge["from"], edge["to"]].get("count") != edge.get("count"):
            differences.append("counts differ")
    if differences:
        sys.exit("NetworkX: " + "\n".join(differences))


def main():
    path = sys.argv[1]
    root = ElementTree.parse(path).getroot()
    if root.tag == GRAPHML + "graphml":
        out = read_graphml(root)
        compare_with_networkx(path, out)
    elif root.tag == SVG + "svg":
        out = {"texts": [text.text or "" for text in root.iter(SVG + "text")],
               "titles": [title.text or "" for title in root.iter(SVG + "title")]}
    else:
        sys.exit("neither GraphML nor SVG: " + root.tag)
    json.dump(out, sys.stdout)


main()
