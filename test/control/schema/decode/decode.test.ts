// Which documents of a file are resources, and of which kind.

import { describe, expect, it } from 'vitest'
import { decode, problemsOf, resource } from './documents.js'

describe('which documents are resources', () => {
  it.each([
    ['', []],
    ['---\n# nothing\n---\n', []],
    [
      'kind: ProxyPolicy',
      ['f.yaml:1:1 apiVersion: is missing, expected the API of a resource, e.g. v1'],
    ],
    ['apiVersion: v1', ['f.yaml:1:1 kind: is missing, expected the kind of a resource']],
    ['- a', ['f.yaml:1:1 a document must be a resource: a map with apiVersion and kind']],
    [
      'apiVersion: policy.gatehouse.dev/v1alpha1\nkind: ProxyPolcy',
      ['f.yaml:2:7 kind: "ProxyPolcy" is not a kind; did you mean ProxyPolicy?'],
    ],
    [
      'apiVersion: policy.gatehouse.dev/v1alpha1\nkind: Guard',
      ['f.yaml:2:7 kind: "Guard" is not one of ProxyPolicy, ProxyBackend, ProxyParameters'],
    ],
    [
      'apiVersion: policy.example.com/v1alpha1\nkind: ProxyPolicy',
      [
        'f.yaml:1:13 apiVersion: "policy.example.com" is not the API group of ProxyPolicy, expected policy.gatehouse.dev/v1alpha1 (the API group is a setting: --api-group)',
      ],
    ],
    [
      'apiVersion: policy.gatehouse.dev/v1\nkind: ProxyPolicy',
      [
        'f.yaml:1:13 apiVersion: "policy.gatehouse.dev/v1" is not a version of ProxyPolicy that is read here, expected policy.gatehouse.dev/v1alpha1',
      ],
    ],
    [
      'apiVersion: gateway.networking.k8s.io/v1\nkind: HttpRoute',
      ['f.yaml:2:7 kind: "HttpRoute" is not a kind; did you mean HTTPRoute?'],
    ],
    [
      'apiVersion: gateway.network.k8s.io/v1\nkind: HTTPRoute',
      [
        'f.yaml:1:13 apiVersion: "gateway.network.k8s.io" is not the API group of HTTPRoute, expected gateway.networking.k8s.io/v1',
      ],
    ],
  ])('%j', (text, expected) => {
    expect(problemsOf(text)).toEqual(expected)
  })

  it.each([
    ['apps/v1', 'Deployment'],
    ['v1', 'PersistentVolume'],
    ['v1', 'ServiceAccount'],
    ['gateway.networking.k8s.io/v1', 'GRPCRoute'],
    ['gateway.networking.k8s.io/v1alpha2', 'TCPRoute'],
    ['networking.istio.io/v1', 'Gateway'],
    ['serving.knative.dev/v1', 'Service'],
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
  ])('leaves alone %s %s, with a note', (apiVersion, kind) => {
    const { problems, notes, resources } = decode(`apiVersion: ${apiVersion}\nkind: ${kind}`)
    expect([problems, resources]).toEqual([[], []])
    expect(notes.map(({ source, message }) => `${source} ${message}`)).toEqual([
      `f.yaml:1:1 ${kind} is not a kind that Gatehouse reads: left alone`,
    ])
  })

  it('reads the kinds of Gatehouse in the API group that is set', () => {
    const text = resource('ProxyBackend', 'spec: { static: { host: a, port: 1 } }')
    const other = text.replace('policy.gatehouse.dev', 'policy.example.com')
    expect(decode(other, 'policy.example.com').resources).toHaveLength(1)
    expect(decode(text, 'policy.example.com').problems).toHaveLength(1)
  })

  it('keeps the labels of a Namespace, and nothing else of it', () => {
    const { resources, problems } = decode(
      'apiVersion: v1\nkind: Namespace\nmetadata: { name: shop, labels: { team: a }, annotations: { b: c } }\nspec: { finalizers: [kubernetes] }\nstatus: { phase: Active }',
    )
    expect(problems).toEqual([])
    expect(resources[0]).toMatchObject({ collection: 'namespaces' })
    expect(resources[0]?.resource.metadata).toEqual({
      namespace: '',
      name: 'shop',
      labels: { team: 'a' },
    })
    expect(resources[0]?.resource.spec).toEqual({})
  })

  it('puts a document without a namespace into default, and a GatewayClass into none', () => {
    const text = `${resource('Service', 'spec: {}')}\n---\n${resource('GatewayClass', 'spec: { controllerName: c }')}`
    expect(decode(text).resources.map((each) => each.resource.metadata.namespace)).toEqual([
      'default',
      '',
    ])
  })

  it('reads metadata as a cluster writes it', () => {
    const text = `apiVersion: v1
kind: Service
metadata:
  name: x
  namespace: n
  creationTimestamp: "2026-01-02T03:04:05Z"
  generation: 3
  labels: { a: b }
  annotations: null
  managedFields: [{ manager: kubectl }]
  resourceVersion: "5"
spec: {}`
    expect(decode(text).resources[0]?.resource.metadata).toEqual({
      namespace: 'n',
      name: 'x',
      labels: { a: 'b' },
      generation: 3,
      creationTimestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
    })
  })

  it.each([
    ['metadata: {}', 'f.yaml:3:11 metadata.name: is missing, expected a string'],
    [
      'metadata: { name: a/b }',
      'f.yaml:3:19 metadata.name: "a/b" is not a name of lower-case letters, digits, "-" and "."',
    ],
    [
      'metadata: { name: a, namespace: N }',
      'f.yaml:3:33 metadata.namespace: "N" is not a namespace of lower-case letters, digits and "-"',
    ],
    ['metadata: { name: 7 }', 'f.yaml:3:19 metadata.name: 7 is not a string (put it in quotes)'],
  ])('refuses %s', (metadata, expected) => {
    expect(problemsOf(`apiVersion: v1\nkind: Service\n${metadata}\nspec: {}`)).toEqual([expected])
  })

  it('reads the items of a List, and says which of them is wrong', () => {
    const text = `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Service
    metadata: { name: a }
    spec: {}
  - apiVersion: v1
    kind: Service
    metadata: { name: b }
    spec: { ports: [{}] }`
    const { resources } = decode(text)
    expect(resources.map(({ resource: { source } }) => source)).toEqual(['f.yaml:4'])
    expect(problemsOf(text)).toEqual([
      'f.yaml:11:21 items[1].spec.ports[0].port: is missing, expected an integer',
    ])
  })
})
