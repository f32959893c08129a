// Structural schemas for the status of Gatehouse's own kinds: conditions, by ancestor for policies (decision 29).

import type { JsonObject } from '../../ir/json.js'

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
export const objectStatus: JsonObject = {
  type: 'object',
  description: 'Status of the resource.',
  properties: { conditions },
}

/** Schema of the status of a policy. */
export const policyStatusSchema: JsonObject = {
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
