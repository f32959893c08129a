// check, translate, bootstrap and crds for a user or a CI job: output, streams and exit codes.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { bootstrap } from '../../../src/cli/commands/bootstrap.js'
import { check } from '../../../src/cli/commands/check.js'
import type { CommandIo, ExitCode } from '../../../src/cli/commands/command-io.js'
import { crds } from '../../../src/cli/commands/crds.js'
import { translate } from '../../../src/cli/commands/translate.js'
import { parseCommandLine, type Settings } from '../../../src/ops/settings/settings.js'
import { type DocumentServer, json, startDocumentServer } from '../../support/document-server.js'
import {
  allow,
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  toYaml,
} from '../../support/resources.js'

type Command = (settings: Settings, io: CommandIo) => Promise<ExitCode>

let folder: string
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'gatehouse-commands-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (command: Command, ...args: readonly string[]) =>
  runUntil(new AbortController().signal, command, ...args)

async function runUntil(stop: AbortSignal, command: Command, ...args: readonly string[]) {
  const line = parseCommandLine(args, {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  let out = ''
  let err = ''
  const code = await command(line.settings, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    stop,
    atExit: () => undefined,
  })
  return { code, out: out.replaceAll(folder, 'DIR'), err: err.replaceAll(folder, 'DIR') }
}

/** A file of its own folder; the folder's path. */
async function filed(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await mkdir(path)
  await writeFile(join(path, 'resources.yaml'), text)
  return path
}

const jwt = (more: object = {}) => ({
  mode: 'Strict',
  providers: [
    {
      issuer: 'http://idp.example/o/mcp/',
      audiences: ['mcp-client'],
      jwks: remoteJwks('idp', 9000, '/o/mcp/jwks/'),
    },
  ],
  mcp: {
    provider: 'IdpOne',
    clientId: 'mcp-client',
    metadataIssuer: 'Gateway',
    allowedOrigins: ['https://app.example'],
    ...more,
  },
})

const documents = (policy: object): string =>
  toYaml(
    gateway([8080]),
    proxyBackend('idp', { host: 'idp.example', port: 9000 }),
    proxyBackend('mcp', { host: '127.0.0.1', port: 3001 }),
    mcpRoute('mcp', 'mcp'),
    proxyPolicy('mcp', 'mcp', policy),
  )

const good = documents({ jwtAuthentication: jwt({ corsHeaders: 'AsWritten' }) })

describe('check', () => {
  test('of good resources says so, and what it did not look at', async () => {
    expect(await run(check, 'check', await filed('good', good))).toEqual({
      code: 0,
      err: '',
      out: [
        'DIR/good/resources.yaml:69:1: not checked offline: ProxyPolicy default/mcp: http://idp.example/o/mcp/.well-known/openid-configuration (discovery document)',
        'DIR/good/resources.yaml:69:1: not checked offline: ProxyPolicy default/mcp: http://idp.example:9000/o/mcp/jwks/ (key set)',
        'DIR/good/resources.yaml:69:1: not checked offline: ProxyPolicy default/mcp: if http://idp.example/o/mcp/ sends iss in its authorization response (RFC 9207), MCP clients that check it cannot log in with authorizationServer Gateway: set mcp.authorizationServer to Provider or Relay (check --fetch asks the provider)',
        '5 resources read; all is well',
        '',
      ].join('\n'),
    })
  })

  describe('with --fetch', () => {
    let idp: DocumentServer
    beforeEach(async () => (idp = await startDocumentServer()))
    afterEach(() => idp.close())

    const KEYS = {
      keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }],
    }

    /** Serves a provider's documents and returns the path of resources that name it. */
    async function withProvider(discovery: object, mcp: object = {}): Promise<string> {
      const at = `http://127.0.0.1:${String(idp.port)}`
      const issuer = `${at}/o/mcp/`
      idp.serve('/o/mcp/jwks/', KEYS)
      idp.serve('/o/mcp/.well-known/openid-configuration', {
        issuer,
        authorization_endpoint: `${issuer}authorize/`,
        token_endpoint: `${issuer}token/`,
        ...discovery,
      })
      const authentication = { corsHeaders: 'AsWritten', ...mcp }
      const text = documents({ jwtAuthentication: jwt(authentication) })
        .replaceAll('http://idp.example/o/mcp/', issuer)
        .replace('idp.example', '127.0.0.1')
        .replaceAll('9000', String(idp.port))
      return filed(`fetched-${String(idp.port)}`, text)
    }

    test('finds nothing wrong with a provider that suits every client', async () => {
      const path = await withProvider({})
      expect(await run(check, 'check', path, '--fetch', '--strict')).toEqual({
        code: 0,
        err: '',
        out: '5 resources read; all is well\n',
      })
    })

    test('says what to set for a provider that sends iss: a remark', async () => {
      const path = await withProvider({ authorization_response_iss_parameter_supported: true })
      const { code, out } = await run(check, 'check', path, '--fetch')
      expect(out).toMatch(
        /resources\.yaml:69:1: note: ProxyPolicy default\/mcp: .*MCP clients that check it cannot log in with authorizationServer Gateway; they need authorizationServer Provider or Relay/,
      )
      expect(out).not.toContain('not checked')
      expect(code).toBe(0)
      expect((await run(check, 'check', path, '--fetch', '--strict')).code).toBe(1)
    })

    test('fails for a provider that names another issuer', async () => {
      const path = await withProvider({ issuer: 'https://other.example/o/mcp/' })
      const { code, out } = await run(check, 'check', path, '--fetch')
      expect(out).toMatch(/:69:1: error: ProxyPolicy .*names the issuer "https:.*", not http:/)
      expect(code).toBe(1)
    })

    test('fails for a relay whose logins the provider makes impossible', async () => {
      const path = await withProvider(
        { token_endpoint: 'http://login.example/token' },
        {
          authorizationServer: 'Relay',
          resourceMetadata: { resource: 'http://localhost:8080/mcp' },
        },
      )
      const { code, out } = await run(check, 'check', path, '--fetch')
      expect(out).toContain('Logins are refused: ')
      expect(out).toContain('name it in mcp.relay.tokenEndpoint.origin')
      expect(code).toBe(1)
    })

    test('fails if the keys cannot be had', async () => {
      const path = await withProvider({})
      idp.serve('/o/mcp/jwks/', json({}, 500))
      const { code, out } = await run(check, 'check', path, '--fetch')
      expect(out).toMatch(/KeySetUnavailable.*HTTP 500/)
      expect(code).toBe(1)
    })

    test('says why a discovery document cannot be had: a remark', async () => {
      const path = await withProvider({})
      idp.serve('/o/mcp/.well-known/openid-configuration', json({}, 404))
      const { code, out } = await run(check, 'check', path, '--fetch')
      expect(out).toMatch(/note: .*openid-configuration is not available: HTTP 404/)
      expect(code).toBe(0)
    })

    test('ends when it is stopped while the provider says nothing', async () => {
      const path = await withProvider({})
      const stop = new AbortController()
      idp.serve('/o/mcp/jwks/', () => stop.abort())
      const { code, out } = await runUntil(stop.signal, check, 'check', path, '--fetch')
      expect(out).toContain('KeySetUnavailable')
      expect(code).toBe(1)
    })
  })

  test('of keys that would be fetched without TLS from port 443 asks whether that is meant', async () => {
    const { out } = await run(check, 'check', await filed('plain', good.replace(/9000/g, '443')))
    const note = `DIR/plain/resources.yaml:69:1: note: ProxyPolicy default/mcp: http://idp.example:443/o/mcp/jwks/ (key set) is asked for without TLS although`
    expect(out).toContain(note)
  })

  test('with --require-policy fails for a route that no policy decides about', async () => {
    const open = toYaml(
      gateway([8080]),
      proxyBackend('mcp', { host: '127.0.0.1', port: 3001 }),
      mcpRoute('mcp', 'mcp'),
    )
    const path = await filed('open', open)
    expect((await run(check, 'check', path)).code).toBe(0)
    const { code, out } = await run(check, 'check', path, '--require-policy')
    expect(code).toBe(1)
    expect(out).toMatch(/HTTPRoute default\/mcp: Accepted=True \(AcceptedWithoutPolicy\)/)
    const translated = await run(translate, 'translate', path, '--require-policy')
    expect(translated.out).toContain('No policy decides who may use this route')
  })

  test('of a document that does not decode names file, line, column and what was expected', async () => {
    const path = await filed('undecodable', good.replace('mode: Strict', 'mode: strict'))
    const { code, out } = await run(check, 'check', path)
    expect(code).toBe(1)
    expect(out).toMatch(
      /^DIR\/undecodable\/resources\.yaml:\d+:\d+: error: ProxyPolicy default\/mcp: spec\.traffic\.jwtAuthentication\.mode: "strict" is not one of Strict, Optional, Permissive/,
    )
    expect(out).toContain('; 1 problem in documents, 0 in what they mean\n')
  })

  test('of resources that do not work together names the resource, its file and the condition', async () => {
    const path = await filed('invalid', documents({ authorization: allow('jwt.groups ==') }))
    const { code, out } = await run(check, 'check', path)
    expect(code).toBe(1)
    expect(out).toMatch(
      /^DIR\/invalid\/resources\.yaml:\d+:1: error: ProxyPolicy default\/mcp: Accepted=False \(\w+\) on default\/gw: .*matchExpressions\[0\]: line 1, column 14/m,
    )
  })

  test('of a policy whose target is not there says which one may be meant', async () => {
    const misspelt = documents({ jwtAuthentication: jwt() }).replace(
      /^ {6}name: mcp$/m,
      '      name: mpc',
    )
    const { code, out } = await run(check, 'check', await filed('misspelt', misspelt))
    expect(code).toBe(1)
    expect(out).toContain(
      'ProxyPolicy default/mcp: Attached=False (TargetNotFound): Policy is not attached: HTTPRoute default/mpc not found; did you mean "mcp"?\n',
    )
  })

  test('notes what works but not as it may have been meant, and lets it pass', async () => {
    const noted = documents({ jwtAuthentication: jwt({ allowedOrigins: undefined }) })
    const path = await filed('noted', noted)
    const { code, out } = await run(check, 'check', path)
    expect(code).toBe(0)
    expect(out).toContain(': note: ProxyPolicy default/mcp: Accepted=True (Valid)')
    expect(out).toContain('all is well')
  })

  test('counts a listener in conflict as wrong, though its condition is True', async () => {
    const listener = (name: string) => ({ name, port: 8080, protocol: 'HTTP' })
    const path = await filed('conflict', toYaml(gateway([listener('a'), listener('b')])))
    const { code, out } = await run(check, 'check', path)
    expect(code).toBe(1)
    expect(out).toContain('Conflicted=True')
  })

  test('notes what nothing is served by', async () => {
    const path = await filed(
      'idle',
      toYaml(
        gateway([8080]),
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'GatewayClass',
          metadata: { name: 'gatehouse' },
          spec: { controllerName: 'other.example/ctl' },
        },
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'HTTPRoute',
          metadata: { name: 'lost' },
          spec: { rules: [{}] },
        },
      ),
    )
    const { code, out } = await run(check, 'check', path)
    expect(code).toBe(0)
    expect(out).toMatch(
      /yaml:\d+:1: note: Gateway default\/gw: it is left alone: its GatewayClass \w+ is of other\.example\/ctl, not of policy\.gatehouse\.dev\/gatehouse/,
    )
    expect(out).toMatch(
      /yaml:\d+:1: note: HTTPRoute default\/lost: it has no parentRefs: no Gateway serves it/,
    )
  })

  test('of a folder without resources says so', async () => {
    const { code, out } = await run(check, 'check', await filed('empty', ''))
    expect([code, out]).toEqual([
      0,
      '0 resources read: nothing to serve; files that end in .yaml, .yml or .json are read, in folders below too\n',
    ])
  })

  test('of a path that is not there names it', async () => {
    expect(await run(check, 'check', join(folder, 'nowhere'))).toEqual({
      code: 1,
      out: 'DIR/nowhere: error: no such file or folder\n0 resources read; 1 problem in documents, 0 in what they mean\n',
      err: '',
    })
  })

  test('accepts its kinds in another API group, if configured', async () => {
    const other = good.replaceAll('policy.gatehouse.dev', 'policy.example.org')
    const path = await filed('group', other)
    expect((await run(check, 'check', path, '--api-group', 'policy.example.org')).code).toBe(0)
    expect((await run(check, 'check', path)).code).toBe(1)
  })
})

interface EnvoyConfig {
  readonly node: object
  readonly admin: { readonly address: { readonly socket_address: object } }
  readonly static_resources: {
    readonly listeners?: { readonly name: string; readonly address: object }[]
    readonly clusters: { readonly name: string; readonly load_assignment: object }[]
  }
}

describe('translate', () => {
  test('prints one YAML document: listeners, backends, and the way to Gatehouse', async () => {
    const path = await filed('translated', good)
    const flags = ['--connect', '10.0.0.5:18000', '--listen-address', '127.0.0.1']
    const { code, out, err } = await run(translate, 'translate', path, ...flags)
    const { listeners, clusters } = (parse(out) as EnvoyConfig).static_resources
    expect([code, err]).toEqual([0, ''])
    expect(listeners?.map(({ name, address }) => [name, address])).toEqual([
      ['default/gw/8080', { socket_address: { address: '127.0.0.1', port_value: 8080 } }],
    ])
    expect(clusters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['gatehouse_ext_authz', 'gatehouse_ext_proc']),
    )
    expect(out).toContain('10.0.0.5')
    expect(out).not.toMatch(/[&*]a\d/)
  })

  test('prints nothing when a document cannot be read, and says why on stderr', async () => {
    const path = await filed('untranslated', 'kind: [')
    const { code, out, err } = await run(translate, 'translate', path)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^DIR\/untranslated\/resources\.yaml:1:\d+: /)
  })

  test('of a broken policy prints a route that refuses, and says why on stderr', async () => {
    const path = await filed('refusing', documents({ authorization: allow('jwt.groups ==') }))
    const { code, out, err } = await run(translate, 'translate', path)
    expect(code).toBe(0)
    expect(out).toContain('direct_response')
    expect(err).toContain('Accepted=False')
  })
})

describe('bootstrap', () => {
  test('leads every Gateway’s Envoy to --grpc by default', async () => {
    const { code, out } = await run(bootstrap, 'bootstrap', '--grpc', 'unix:/run/g.sock')
    const config = parse(out) as EnvoyConfig
    expect(code).toBe(0)
    expect(config.node).toMatchObject({ cluster: '*' })
    expect(config.admin.address.socket_address).toEqual({ address: '127.0.0.1', port_value: 19000 })
    expect(config.static_resources.clusters.map(({ name }) => name)).toEqual([
      'gatehouse_xds',
      'gatehouse_ext_authz',
      'gatehouse_ext_proc',
    ])
    for (const cluster of config.static_resources.clusters)
      expect(JSON.stringify(cluster.load_assignment)).toContain('/run/g.sock')
  })

  test('serves one Gateway with --gateway, at --connect, with its admin at --envoy-admin', async () => {
    const { out } = await run(
      bootstrap,
      'bootstrap',
      '--gateway',
      'team/gw',
      '--connect',
      'gatehouse.internal:1',
      '--envoy-admin',
      '127.0.0.1:2',
    )
    const config = parse(out) as EnvoyConfig
    expect(config.node).toMatchObject({ cluster: 'team/gw' })
    expect(config.admin.address.socket_address).toEqual({ address: '127.0.0.1', port_value: 2 })
    expect(out).toContain('gatehouse.internal')
  })

  test("puts Envoy's admin on a socket that its user and group alone may connect to", async () => {
    const { out } = await run(bootstrap, 'bootstrap', '--envoy-admin', 'unix:/run/e/admin.sock')
    const { address } = (parse(out) as EnvoyConfig).admin
    expect(address).toEqual({ pipe: { path: '/run/e/admin.sock', mode: 0o660 } })
  })
})

test('crds prints one definition per kind, of the API group that was asked for', async () => {
  const { code, out } = await run(crds, 'crds', '--api-group', 'policy.example.org')
  const names = parseAllDocuments(out).map((document) => document.getIn(['metadata', 'name']))
  expect(code).toBe(0)
  expect(names.sort()).toEqual([
    'proxybackends.policy.example.org',
    'proxyparameters.policy.example.org',
    'proxypolicies.policy.example.org',
  ])
})
