// Builds the CustomResourceDefinitions of Gatehouse's own kinds from their schemas.

import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'
import { proxyBackendSpec } from '../kinds/proxy-backend.js'
import { proxyParametersSpec } from '../kinds/proxy-parameters.js'
import { proxyPolicySpec } from '../kinds/proxy-policy.js'
import {
  PROXY_PARAMETERS_RULES,
  proxyPolicyRules,
  type RulesByPath,
  withRules,
} from './crd-rules.js'

// Structural schemas for the status of Gatehouse's own kinds: conditions, by ancestor for policies (decision 29).

const text = (description: string, maxLength: number): JsonObject => ({
  type: 'string',
  description,
  maxLength,
})

const conditions: JsonObject = {
  type: 'array',
  description: 'What holds of the resource.',
  maxItems: 8,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: text('Accepted or Attached.', 316),
      status: {
        type: 'string',
        description: 'Whether it holds.',
        enum: ['True', 'False', 'Unknown'],
      },
      reason: text('Why, in one word.', 1024),
      message: text('Why, in a sentence.', 32_768),
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        minimum: 0,
        description: 'The generation of the resource that this was said of.',
      },
      lastTransitionTime: {
        type: 'string',
        format: 'date-time',
        description: 'When the status last changed.',
      },
    },
  },
}

/** Schema of a status with conditions. */
const objectStatus: JsonObject = {
  type: 'object',
  description: 'Status of the resource.',
  properties: { conditions },
}

/** Schema of the status of a policy. */
const policyStatusSchema: JsonObject = {
  type: 'object',
  description: 'Status of the policy, for every Gateway that it takes effect on.',
  required: ['ancestors'],
  properties: {
    ancestors: {
      type: 'array',
      description: 'One entry per Gateway and controller.',
      maxItems: 16,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['ancestorRef', 'controllerName', 'conditions'],
        properties: {
          ancestorRef: {
            type: 'object',
            description: 'The Gateway.',
            required: ['name'],
            properties: {
              group: {
                ...text('Its API group.', 253),
                default: 'gateway.networking.k8s.io',
              },
              kind: { ...text('Its kind.', 63), default: 'Gateway' },
              namespace: text('Its namespace.', 63),
              name: text('Its name.', 253),
              sectionName: text('A listener of it.', 253),
              port: {
                type: 'integer',
                format: 'int32',
                minimum: 1,
                maximum: 65_535,
                description: 'A port of it.',
              },
            },
          },
          controllerName: text('Who says so.', 253),
          conditions,
        },
      },
    },
  },
}

// Converts a zod schema into a Kubernetes structural schema: JSON Schema without what the API server disallows.

/** Returns the schema of documents before defaults are filled in. */
function structuralSchema(schema: z.ZodType): JsonObject {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })
  return structural(JSON.parse(JSON.stringify(json)) as JsonObject)
}

/** Keywords that structural schemas lack or express otherwise; example and since are for docs/reference.md. */
const DROPPED = new Set([
  '$schema',
  'additionalProperties',
  'const',
  'example',
  'propertyNames',
  'since',
])

const structural = (schema: JsonObject): JsonObject => ({
  ...Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !DROPPED.has(key))
      .map(([key, value]) => [key, nested(key, value)]),
  ),
  ...(schema['const'] !== undefined && { enum: [schema['const']] }),
  ...members(schema['additionalProperties']),
})

function nested(key: string, value: Json): Json {
  if (key === 'items' && isJsonObject(value)) return structural(value)
  if (key !== 'properties' || !isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, property]) => [
      name,
      isJsonObject(property) ? structural(property) : property,
    ]),
  )
}

/** Converts additionalProperties; an empty schema allows any members. */
function members(additional: Json | undefined): JsonObject {
  if (!isJsonObject(additional)) return {}
  return Object.keys(additional).length === 0
    ? { 'x-kubernetes-preserve-unknown-fields': true }
    : { additionalProperties: structural(additional) }
}

interface OwnKind {
  readonly kind: string
  readonly plural: string
  readonly shortName: string
  readonly description: string
  readonly spec: z.ZodType
  readonly rules: (apiGroup: string) => RulesByPath
  readonly status: JsonObject
  readonly columns: readonly JsonObject[]
}

const column = (name: string, type: string, jsonPath: string): JsonObject => ({
  name,
  type,
  jsonPath,
})

const AGE = column('Age', 'date', '.metadata.creationTimestamp')
const condition = (name: string, list: string) =>
  column(name, 'string', `${list}.conditions[?(@.type=="${name}")].status`)

const KINDS: readonly OwnKind[] = [
  {
    kind: 'ProxyBackend',
    plural: 'proxybackends',
    shortName: 'pbe',
    description: 'A host outside the cluster, for routes and for the keys of an identity provider.',
    spec: proxyBackendSpec,
    rules: () => ({}),
    status: objectStatus,
    columns: [
      column('Host', 'string', '.spec.static.host'),
      column('Port', 'integer', '.spec.static.port'),
      condition('Accepted', '.status'),
      AGE,
    ],
  },
  {
    kind: 'ProxyParameters',
    plural: 'proxyparameters',
    shortName: 'pparams',
    description: 'Limits of the proxy, for the Gateway or GatewayClass that names it.',
    spec: proxyParametersSpec,
    rules: () => PROXY_PARAMETERS_RULES,
    status: objectStatus,
    columns: [condition('Accepted', '.status'), AGE],
  },
  {
    kind: 'ProxyPolicy',
    plural: 'proxypolicies',
    shortName: 'ppol',
    description: 'Who may use a route, and what its webhooks and backends are held to.',
    spec: proxyPolicySpec,
    rules: proxyPolicyRules,
    status: policyStatusSchema,
    columns: [
      condition('Accepted', '.status.ancestors[*]'),
      condition('Attached', '.status.ancestors[*]'),
      AGE,
    ],
  },
]

/** Returns the CRDs, sorted by kind. apiGroup is {policy_api_group} of the specification. */
export const buildCrds = (apiGroup: string): JsonObject[] =>
  KINDS.map((kind) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: [kind.shortName],
        categories: ['gatehouse'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns,
          schema: { openAPIV3Schema: resourceSchema(kind, apiGroup) },
        },
      ],
    },
  }))

const resourceSchema = (
  { description, spec, rules, status }: OwnKind,
  apiGroup: string,
): JsonObject => ({
  type: 'object',
  description,
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
    kind: { type: 'string', description: 'Kind of this object.' },
    metadata: { type: 'object' },
    spec: { ...withRules(structuralSchema(spec), rules(apiGroup)), description: 'What is wanted.' },
    status,
  },
})
