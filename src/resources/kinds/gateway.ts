// Gateway (Gateway API v1): the listeners that Envoy binds, and which routes may attach to them.

import { z } from 'zod'
import { GATEWAY_API_GROUP, group, kind, name, namespace, port } from './fields.js'
import { unimplemented } from './unimplemented.js'

const labelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).default({}),
  matchExpressions: z
    .array(
      z.object({
        key: z.string().min(1),
        /** In, NotIn, Exists or DoesNotExist. The API server also accepts other values. */
        operator: z.string(),
        values: z.array(z.string()).default([]),
      }),
    )
    .default([]),
})

/** A decoded label selector (metav1.LabelSelector). */
export type LabelSelector = z.infer<typeof labelSelector>

const allowedRoutes = z.object({
  namespaces: z
    .object({
      from: z.enum(['All', 'Selector', 'Same']).default('Same'),
      selector: labelSelector.optional(),
    })
    .prefault({}),
  kinds: z
    .array(z.object({ group: group().default(GATEWAY_API_GROUP), kind: kind() }))
    .max(8)
    .default([]),
})

const secretRef = z.object({
  group: group().default(''),
  kind: kind().default('Secret'),
  name: name(),
  namespace: namespace().optional(),
})

/** A decoded reference to a certificate with its private key (SecretObjectReference). */
export type CertificateRef = z.infer<typeof secretRef>

const listenerTls = z.object({
  mode: z.enum(['Terminate', 'Passthrough']).default('Terminate'),
  certificateRefs: z.array(secretRef).max(64).default([]),
})

const clientValidation = z.object({
  caCertificateRefs: z
    .array(
      z.object({
        group: group().default(''),
        kind: kind(),
        name: name(),
        namespace: namespace().optional(),
      }),
    )
    .min(1)
    .max(8),
  mode: z.enum(['AllowValidOnly', 'AllowInsecureFallback']).default('AllowValidOnly'),
})

/** A decoded check of clients by their certificates (FrontendTLSValidation). */
export type ClientValidationSpec = z.infer<typeof clientValidation>

const frontendTls = z.object({ validation: clientValidation.optional() })

const gatewayTls = z.object({
  frontend: z
    .object({
      default: frontendTls.optional(),
      perPort: z
        .array(z.object({ port: port(), tls: frontendTls }))
        .max(64)
        .default([]),
    })
    .optional(),
  /** What Envoy presents to backends that it connects to over TLS. */
  backend: z.object({ clientCertificateRef: secretRef.optional() }).optional(),
})

/** Schema of a listener of a Gateway or of a ListenerSet. */
export const listener = z.object({
  name: name(),
  hostname: name().optional(),
  port: port(),
  protocol: z.string().min(1).max(255),
  tls: unimplemented(listenerTls, ['options']).optional(),
  allowedRoutes: allowedRoutes.prefault({}),
})

const allowedListeners = z.object({
  namespaces: z
    .object({
      from: z.enum(['All', 'Selector', 'Same', 'None']).default('None'),
      selector: labelSelector.optional(),
    })
    .prefault({}),
})

/** Gateway spec (gateway.networking.k8s.io/v1). */
export const gatewaySpec = unimplemented(
  z.object({
    gatewayClassName: name(),
    listeners: z.array(listener).min(1).max(64),
    addresses: z
      .array(
        z.object({
          type: z.string().min(1).max(253).default('IPAddress'),
          /** "": any address of the type. */
          value: z.string().max(253).default(''),
        }),
      )
      .max(16)
      .default([]),
    tls: gatewayTls.optional(),
    /** Which ListenerSets may add listeners; absent: none. */
    allowedListeners: allowedListeners.optional(),
    infrastructure: unimplemented(
      z.object({
        parametersRef: z.object({ group: group(), kind: kind(), name: name() }).optional(),
      }),
      ['labels', 'annotations'],
    ).optional(),
  }),
  ['defaultScope'],
)

/** A decoded Gateway spec. */
export type GatewaySpec = z.infer<typeof gatewaySpec>
