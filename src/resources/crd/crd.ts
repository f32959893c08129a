// Builds the CustomResourceDefinitions of Gatehouse's own kinds from their schemas.

import type { z } from 'zod'
import type { JsonObject } from '../../ir/json.js'
import { proxyBackendSpec } from '../kinds/proxy-backend.js'
import { proxyParametersSpec } from '../kinds/proxy-parameters.js'
import { proxyPolicySpec } from '../kinds/proxy-policy.js'
import {
  PROXY_PARAMETERS_RULES,
  proxyPolicyRules,
  type RulesByPath,
  withRules,
} from './crd-rules.js'
import { structuralSchema } from './crd-schema.js'
import { objectStatus, policyStatusSchema } from './crd-status.js'

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
