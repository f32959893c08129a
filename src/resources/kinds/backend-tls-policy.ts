// BackendTLSPolicy (Gateway API v1): the backends that Envoy connects to over TLS, and the checks of their
// certificates.

import { z } from 'zod'
import { group, kind, name } from './fields.js'
import { unimplemented } from './unimplemented.js'

const subjectAltName = z.discriminatedUnion('type', [
  z.object({ type: z.literal('Hostname'), hostname: name() }),
  z.object({ type: z.literal('URI'), uri: name() }),
])

/** BackendTLSPolicy spec (gateway.networking.k8s.io/v1). */
export const backendTlsPolicySpec = unimplemented(
  z.object({
    targetRefs: z
      .array(
        z.object({ group: group(), kind: kind(), name: name(), sectionName: name().optional() }),
      )
      .min(1)
      .max(16),
    validation: z.object({
      hostname: name(),
      wellKnownCACertificates: z.string().optional(),
      caCertificateRefs: z
        .array(z.object({ group: group(), kind: kind(), name: name() }))
        .max(8)
        .default([]),
      subjectAltNames: z.array(subjectAltName).max(5).default([]),
    }),
  }),
  ['options'],
)

/** A decoded BackendTLSPolicy spec. */
export type BackendTlsPolicySpec = z.infer<typeof backendTlsPolicySpec>
