// BackendTLSPolicy (Gateway API v1): the backends that Envoy connects to over TLS, and the checks of their
// certificates.

import { z } from 'zod'
import { group, kind, name } from './fields.js'
import { unimplemented } from './unimplemented.js'

const subjectAltName = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('Hostname').meta({
      description: 'Hostname: a DNS name. URI: a URI, such as an SPIFFE ID.',
      example: 'URI',
    }),
    hostname: name().meta({
      description: 'A DNS name that the certificate may have; with type Hostname.',
      example: 'api.internal',
    }),
  }),
  z.object({
    type: z.literal('URI'),
    uri: name().meta({
      description: 'A URI that the certificate may have; with type URI.',
      example: 'spiffe://cluster.local/ns/team/sa/api',
    }),
  }),
])

/** BackendTLSPolicy spec (gateway.networking.k8s.io/v1). */
export const backendTlsPolicySpec = unimplemented(
  z.object({
    targetRefs: z
      .array(
        z.object({
          group: group().meta({
            description: 'API group of the backend; "" for a Service.',
            example: '',
          }),
          kind: kind().meta({ description: 'Service or ProxyBackend.', example: 'Service' }),
          name: name().meta({ description: 'Name of the backend.', example: 'api' }),
          sectionName: name().optional().meta({
            description: 'A port of the Service, by its name; absent: all of its ports.',
            example: 'https',
          }),
        }),
      )
      .min(1)
      .max(16)
      .meta({ description: 'The backends that Envoy connects to over TLS.' }),
    validation: z
      .object({
        hostname: name().meta({
          description:
            'The server name that Envoy sends (SNI), and that the certificate must have unless subjectAltNames are given.',
          example: 'api.internal',
        }),
        wellKnownCACertificates: z
          .string()
          .optional()
          .meta({
            description:
              'System: the authorities of the system that Envoy runs on. Either this or caCertificateRefs.',
            values: ['System'],
            example: 'System',
          }),
        caCertificateRefs: z
          .array(
            z.object({
              group: group().meta({
                description: 'API group of the authorities; "" is the core group.',
                example: '',
              }),
              kind: kind().meta({ description: 'ConfigMap or Secret.', example: 'ConfigMap' }),
              name: name().meta({
                description: 'A ConfigMap or Secret whose ca.crt has the authorities, as PEM.',
                example: 'internal-authority',
              }),
            }),
          )
          .max(8)
          .default([])
          .meta({ description: 'The authorities that may sign the certificate.' }),
        subjectAltNames: z.array(subjectAltName).max(5).default([]).meta({
          description: 'Names of which the certificate must have one, in place of hostname.',
        }),
      })
      .meta({ description: 'What the certificate of a backend is held to.' }),
  }),
  ['options'],
)

/** A decoded BackendTLSPolicy spec. */
export type BackendTlsPolicySpec = z.infer<typeof backendTlsPolicySpec>
