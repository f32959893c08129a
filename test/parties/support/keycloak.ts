// Runs a real Keycloak on loopback, with an in-memory database and one realm, and uses its admin API.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { eventually } from '../../../testing/eventually.js'
import { freePort } from '../../../testing/ports.js'
import { CLIENT_ID, mcpScope, REALM, realm } from './keycloak-realm.js'
import { keycloakHome } from './tools.js'

/** It takes 30 s of CPU, and a machine with two cores may have other tests to run. */
const START_MS = 300_000
const ADMIN = 'admin'

export interface Keycloak {
  readonly host: string
  readonly port: number
  readonly issuer: string
  readonly jwksPath: string
  /** Returns an access token by the password grant. Each user's password is the user name. */
  token(user: string): Promise<string>
  /** @param client a ClientRepresentation. */
  addClient(client: object): Promise<void>
  /** Opens registration, as an operator would, to clients with loopback redirects and tokens for the MCP server. */
  openRegistration(): Promise<void>
  /** Adds an RSA signing key that is used from now on. Returns its id for disableKey. */
  addKey(priority: number): Promise<string>
  /** Returns the id of the realm's initial key. */
  firstKey(): Promise<string>
  /** Disables a key: its tokens become invalid and it is removed from the key set. */
  disableKey(id: string): Promise<void>
  close(): Promise<void>
}

/** @param own a RealmRepresentation; by default with a public client, the group mcp-users and two users. */
export async function startKeycloak(own: object = realm): Promise<Keycloak> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${String(port)}`
  const child = launch(port)
  try {
    await up(child, `${origin}/realms/master`)
    const admin = new AdminApi(origin)
    await admin.create('/admin/realms', own)
    return {
      host: '127.0.0.1',
      port,
      issuer: `${origin}/realms/${REALM}`,
      jwksPath: `/realms/${REALM}/protocol/openid-connect/certs`,
      token: (user) => passwordGrant(origin, { realm: REALM, client: CLIENT_ID, user }),
      addClient: async (client) =>
        void (await admin.create(`/admin/realms/${REALM}/clients`, client)),
      openRegistration: () => openRegistration(admin),
      addKey: (priority) => addKey(admin, priority),
      firstKey: () => firstKey(admin),
      disableKey: (id) => disableKey(admin, id),
      close: () => stop(child),
    }
  } catch (failure) {
    await stop(child)
    throw failure
  }
}

/** Starts Keycloak in a separate process group, because kc.sh starts a Java process that outlives it. */
function launch(port: number): ChildProcess {
  const flags = ['--http-host=127.0.0.1', `--http-port=${String(port)}`, '--http-enabled=true']
  return spawn('bash', ['bin/kc.sh', 'start', '--optimized', '--hostname-strict=false', ...flags], {
    cwd: keycloakHome(),
    detached: true,
    stdio: 'ignore',
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
      KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN,
      // The quick compiler alone: what runs for a minute or two has no time for the other.
      JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
    },
  })
}

async function up(child: ChildProcess, url: string): Promise<void> {
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`Keycloak ended with ${String(child.exitCode)}`)
    const answer = await fetch(url)
    if (!answer.ok) throw new Error(`Keycloak answers ${String(answer.status)}`)
  }, START_MS)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'close')
  process.kill(-child.pid, 'SIGKILL')
  await ended
}

interface Grant {
  readonly realm: string
  readonly client: string
  readonly user: string
}

async function passwordGrant(origin: string, { realm, client, user }: Grant): Promise<string> {
  const answer = await fetch(`${origin}/realms/${realm}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: client,
      username: user,
      password: user,
      scope: 'openid',
    }),
  })
  const body = (await answer.json()) as { access_token?: string; error_description?: string }
  if (body.access_token === undefined) throw new Error(`no token: ${body.error_description ?? ''}`)
  return body.access_token
}

/** https://www.keycloak.org/docs-api/latest/rest-api. Each call gets a new token, because tokens live for a minute. */
class AdminApi {
  constructor(private readonly origin: string) {}

  async call(method: string, path: string, body?: object): Promise<Response> {
    const token = await passwordGrant(this.origin, {
      realm: 'master',
      client: 'admin-cli',
      user: ADMIN,
    })
    const answer = await fetch(this.origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer
  }

  /** Creates an object and returns its id from the Location header. */
  async create(path: string, body: object): Promise<string> {
    const answer = await this.call('POST', path, body)
    return answer.headers.get('location')?.split('/').at(-1) ?? ''
  }
}

const COMPONENTS = `/admin/realms/${REALM}/components`
const KEY_PROVIDER = 'org.keycloak.keys.KeyProvider'
const REGISTRATION_POLICY =
  'org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy'

async function openRegistration(admin: AdminApi): Promise<void> {
  const scope = await admin.create(`/admin/realms/${REALM}/client-scopes`, mcpScope)
  await admin.call('PUT', `/admin/realms/${REALM}/default-default-client-scopes/${scope}`)
  const policies = await componentsOf(admin, REGISTRATION_POLICY)
  const hosts = policies.find(
    ({ providerId, subType }) => providerId === 'trusted-hosts' && subType === 'anonymous',
  )
  if (hosts === undefined) throw new Error('the realm has no policy of trusted hosts')
  const config = {
    ...hosts.config,
    'host-sending-registration-request-must-match': ['false'],
    'client-uris-must-match': ['true'],
    // Redirect URIs on loopback, and the client_uri of the MCP Inspector.
    'trusted-hosts': ['127.0.0.1', 'localhost', 'github.com'],
  }
  await admin.call('PUT', `${COMPONENTS}/${hosts.id}`, { ...hosts, config })
}

const addKey = (admin: AdminApi, priority: number): Promise<string> =>
  admin.create(COMPONENTS, {
    name: `rsa-${String(priority)}`,
    providerId: 'rsa-generated',
    providerType: KEY_PROVIDER,
    config: {
      priority: [String(priority)],
      enabled: ['true'],
      active: ['true'],
      keySize: ['2048'],
    },
  })

interface Component {
  readonly id: string
  readonly providerId: string
  readonly subType?: string
  readonly config: Readonly<Record<string, readonly string[]>>
}

const componentsOf = async (admin: AdminApi, type: string): Promise<readonly Component[]> =>
  (await (await admin.call('GET', `${COMPONENTS}?type=${type}`)).json()) as Component[]

async function firstKey(admin: AdminApi): Promise<string> {
  const components = await componentsOf(admin, KEY_PROVIDER)
  const found = components.find(({ providerId }) => providerId === 'rsa-generated')
  if (found === undefined) throw new Error('the realm has no signing key')
  return found.id
}

async function disableKey(admin: AdminApi, id: string): Promise<void> {
  const component = (await (await admin.call('GET', `${COMPONENTS}/${id}`)).json()) as Component
  const config = { ...component.config, enabled: ['false'], active: ['false'] }
  await admin.call('PUT', `${COMPONENTS}/${id}`, { ...component, config })
}
