// TLS of a Gateway (Gateway API v1): certificates of listeners, of their clients, and towards backends.

import { z } from 'zod'
import { group, kind, name, namespace, port } from './fields.js'

const secretRef = z.object({
  group: group().default('').meta({ description: 'API group of the certificate: the core group.' }),
  kind: kind().default('Secret').meta({ description: 'Secret, the only kind that is read.' }),
  name: name().meta({
    description: 'A Secret of type kubernetes.io/tls.',
    example: 'mcp-example-com',
  }),
  namespace: namespace().optional().meta({
    description:
      'Namespace of the Secret; absent: this one. Another one needs a ReferenceGrant there.',
    example: 'certificates',
  }),
})

/** A decoded reference to a certificate with its private key (SecretObjectReference). */
export type CertificateRef = z.infer<typeof secretRef>

/** Schema of the certificates of a listener. */
export const listenerTls = z.object({
  mode: z.enum(['Terminate', 'Passthrough']).default('Terminate').meta({
    description: 'Terminate: Envoy has the certificate. Passthrough is refused.',
    example: 'Terminate',
  }),
  certificateRefs: z.array(secretRef).max(64).default([]).meta({
    description:
      'The certificates with their keys; clients get the one for the server name that they ask for.',
  }),
})

const clientValidation = z.object({
  caCertificateRefs: z
    .array(
      z.object({
        group: group()
          .default('')
          .meta({ description: 'API group of the authorities: the core group.', since: '0.2.0' }),
        kind: kind().meta({
          description: 'ConfigMap, the only kind that is read.',
          example: 'ConfigMap',
          since: '0.2.0',
        }),
        name: name().meta({
          description: 'A ConfigMap whose ca.crt has the authorities, as PEM.',
          example: 'client-authority',
          since: '0.2.0',
        }),
        namespace: namespace().optional().meta({
          description: 'Its namespace; absent: this one. Another one needs a ReferenceGrant there.',
          example: 'certificates',
          since: '0.2.0',
        }),
      }),
    )
    .min(1)
    .max(8)
    .meta({
      description: 'The authorities that may sign the certificates of clients.',
      since: '0.2.0',
    }),
  mode: z.enum(['AllowValidOnly', 'AllowInsecureFallback']).default('AllowValidOnly').meta({
    description: 'AllowInsecureFallback: clients without a valid certificate are allowed too.',
    since: '0.2.0',
  }),
})

/** A decoded check of clients by their certificates (FrontendTLSValidation). */
export type ClientValidationSpec = z.infer<typeof clientValidation>

const frontendTls = z.object({
  validation: clientValidation.optional().meta({
    description: 'Clients must present a certificate; absent: none is asked for.',
    since: '0.2.0',
  }),
})

/** Schema of TLS for all listeners, and towards backends. */
export const gatewayTls = z.object({
  frontend: z
    .object({
      default: frontendTls
        .optional()
        .meta({ description: 'For all HTTPS ports that perPort does not name.', since: '0.2.0' }),
      perPort: z
        .array(
          z.object({
            port: port().meta({ description: 'The port.', example: 8443, since: '0.2.0' }),
            tls: frontendTls.meta({
              description: 'What clients of this port must present.',
              since: '0.2.0',
            }),
          }),
        )
        .max(64)
        .default([])
        .meta({ description: 'For single ports.', since: '0.2.0' }),
    })
    .optional()
    .meta({ description: 'What clients of HTTPS listeners must present.', since: '0.2.0' }),
  backend: z
    .object({
      clientCertificateRef: secretRef
        .optional()
        .meta({ description: 'The certificate with its key.', since: '0.2.0' }),
    })
    .optional()
    .meta({
      description: 'What Envoy presents to backends that it connects to over TLS.',
      since: '0.2.0',
    }),
})
