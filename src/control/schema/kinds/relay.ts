// jwtAuthentication.mcp.relay: the gateway as authorization server of MCP clients (mcp.authorizationServer Relay).

import { z } from 'zod'
import { backendRef, duration, name } from './fields.js'

const DAY_MS = 86_400_000

/** Parameters, in lower case, that only the gateway itself may set; authorizationParameters may not have them. */
export const OWN_PARAMETERS: readonly string[] = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
  'login_hint',
  'request',
  'request_uri',
  'response_mode',
  'claims',
  'client_secret',
]

const MAX_PARAMETERS = 16

const secretRef = z.object({
  name: name()
    .describe('Name of a Secret, in the namespace of the policy.')
    .meta({ example: 'relay-key' }),
  key: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe('The member of its data. Absent: its only one.')
    .meta({ example: 'key' }),
})

const keyRef = z.object({
  name: secretRef.shape.name.optional(),
  key: secretRef.shape.key,
  file: z
    .string()
    .max(255)
    .regex(/^[^/]+$/, 'is not the name of a file without its folder')
    .optional()
    .describe(
      'Instead of a Secret, the name (without the folder) of a file of --relay-key-file. Exactly one of name and file.',
    )
    .meta({ example: 'relay.key', since: '0.2.0' }),
})

/** The schema of jwtAuthentication.mcp.relay. */
export const relay = z.object({
  keyRef: z
    .array(keyRef)
    .min(1)
    .max(8)
    .optional()
    .describe(
      'Secrets or files of 32 bytes each, raw, hexadecimal or base64: the first seals what clients are given, all open it. Absent: all files of --relay-key-file.',
    ),
  clientSecretRef: secretRef
    .optional()
    .describe("The secret of mcp.clientId at the provider. Absent: it is a public client's."),
  tokenEndpoint: z
    .object({
      origin: z
        .string()
        .max(261)
        .regex(
          /^https?:\/\/(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/,
          'is not a lower-case origin, such as https://oauth2.idp.example',
        )
        .describe("What the token endpoint of the provider's discovery document must begin with.")
        .meta({ example: 'https://oauth2.idp.example', since: '0.2.0' }),
      backendRef: backendRef()
        .optional()
        .describe(
          'The Service or ProxyBackend through which that origin is reached. Absent: straight, by TLS with well-known authorities.',
        )
        .meta({ since: '0.2.0' }),
    })
    .optional()
    .describe(
      "Where the provider's token endpoint is, if it is not at the origin of the issuer, as with Amazon Cognito. Absent: a token endpoint of another origin is not asked, and logins are refused.",
    )
    .meta({ since: '0.2.0' }),
  clientLifetime: duration()
    .refine((ms) => ms >= 60_000 && ms <= 3650 * DAY_MS, 'clientLifetime must be from 1m to 87600h')
    .prefault('2160h')
    .describe('How long a registration is good; then the client registers again.'),
  clientMetadataHosts: z
    .array(
      z
        .string()
        .max(261)
        .regex(
          /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?$/,
          'is not a lower-case host name, with a port or without',
        ),
    )
    .max(64)
    .default([])
    .describe(
      'Hosts whose client metadata documents are read (a client_id that is an https URL). Empty: none.',
    )
    .meta({ example: ['clients.example'] }),
  redirectUris: z
    .array(
      z
        .string()
        .max(2048)
        .regex(
          /^(?:loopback|[a-z][a-z0-9+.-]*:[^\s#@\\]+)$/,
          'is neither "loopback" nor a URI without user and fragment',
        ),
    )
    .min(1)
    .max(64)
    .default(['loopback'])
    .describe(
      'Where clients may be sent back to: "loopback" (http on localhost, 127.0.0.1 or [::1]), or whole URIs, with "/*" at the end for everything below.',
    )
    .meta({ example: ['loopback', 'https://app.example/callback'] }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'is not a scope'))
    .max(64)
    .optional()
    .describe('What clients may ask for. Absent: resourceMetadata.scopesSupported.')
    .meta({ example: ['openid', 'offline_access'] }),
  resourceParameter: z
    .enum(['Send', 'Omit'])
    .default('Send')
    .describe("Whether the provider is sent the resource (RFC 8707), which some don't know."),
  authorizationParameters: z
    .record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/), z.string().max(2048))
    .refine(
      (parameters) => Object.keys(parameters).length <= MAX_PARAMETERS,
      `has more than ${MAX_PARAMETERS} parameters`,
    )
    .meta({ maxProperties: MAX_PARAMETERS })
    .default({})
    .describe('Further parameters of the request to the provider, such as the audience of Auth0.')
    .meta({ example: { audience: 'https://mcp.example/mcp' } }),
})

/** A decoded relay: durations in milliseconds, defaults filled in. */
export type RelaySpec = z.infer<typeof relay>
