// Converts arguments and environment to settings, or to sentences that a user can act on.

import { describe, expect, test } from 'vitest'
import { commandNames, COMMANDS } from '../../../src/ops/settings/commands.js'
import { type FlagKey, flagName, FLAGS, flagsOf } from '../../../src/ops/settings/flags.js'
import { parseCommandLine, type Settings } from '../../../src/ops/settings/settings.js'

type Variables = Record<string, string>

function settingsOf(line: string, environment: Variables = {}): Settings {
  const parsed = parseCommandLine(line.split(' '), environment)
  if (parsed.type !== 'settings') throw new Error(JSON.stringify(parsed))
  return parsed.settings
}

function wrongOf(line: string, environment: Variables = {}): readonly string[] {
  const parsed = parseCommandLine(line === '' ? [] : line.split(' '), environment)
  if (parsed.type !== 'wrong') throw new Error(JSON.stringify(parsed))
  return parsed.sentences
}

function helpOf(line: string): string {
  const parsed = parseCommandLine(line.split(' '), {})
  return parsed.type === 'help' ? parsed.text : JSON.stringify(parsed)
}

const OWN_TLS = '--grpc-tls-cert c --grpc-tls-key k'

describe('defaults', () => {
  test('of serve are those of the public interface', () => {
    expect(settingsOf('serve --resources x')).toMatchObject({
      resources: ['x'],
      grpc: { type: 'tcp', host: '127.0.0.1', port: 18000 },
      admin: { type: 'tcp', host: '127.0.0.1', port: 18001 },
      envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 19000 },
      apiGroup: 'policy.gatehouse.dev',
      listenAddress: '0.0.0.0',
      metadataIssuer: 'provider',
      trustedHops: 0,
      maxBodyBytes: 10 * 1024 * 1024,
      bodyTimeout: 60_000,
      drainTimeout: 10_000,
      clusterDomain: 'cluster.local',
      jwksMaxStale: undefined,
      logLevel: 'info',
      kubernetes: false,
    })
  })
})

describe('values', () => {
  test.each([
    ['--grpc unix:/run/g.sock', { grpc: { type: 'unix', path: '/run/g.sock' } }],
    ['--grpc [::1]:1', { grpc: { type: 'tcp', host: '::1', port: 1 } }],
    ['--grpc=0.0.0.0:9', { grpc: { type: 'tcp', host: '0.0.0.0', port: 9 } }],
    ['--drain-timeout 500ms', { drainTimeout: 500 }],
    ['--drain-timeout 2m', { drainTimeout: 120_000 }],
    ['--jwks-max-stale 24h', { jwksMaxStale: 86_400_000 }],
    ['--held-bytes 64MiB', { heldBytes: 64 * 1024 * 1024 }],
    ['--body-timeout 5s', { bodyTimeout: 5000 }],
    ['--max-body-bytes 64KiB', { maxBodyBytes: 65_536 }],
    ['--max-body-bytes 2048', { maxBodyBytes: 2048 }],
    ['--metadata-issuer Gateway', { metadataIssuer: 'gateway' }],
    ['--trusted-hops 2', { trustedHops: 2 }],
    ['--log-level silent', { logLevel: 'silent' }],
    ['--resources y', { resources: ['x', 'y'] }],
  ])('%s is read', (flags, expected) => {
    expect(settingsOf(`serve --resources x ${flags}`)).toMatchObject(expected)
  })

  test.each([
    ['--grpc nothing', '--grpc "nothing": expected HOST:PORT'],
    ['--grpc 8080', '--grpc "8080": expected HOST:PORT'],
    ['--grpc :80', '--grpc ":80": expected HOST:PORT'],
    ['--grpc unix:', 'expected unix:PATH'],
    ['--grpc 1.2.3.4:65536', '--grpc "1.2.3.4:65536": expected HOST:PORT'],
    [`--grpc unix:/${'x'.repeat(107)}`, 'expected unix:PATH with a path of 1 to 107 bytes'],
    ['--drain-timeout 10', '--drain-timeout "10": expected a duration of 0s to 1h'],
    ['--drain-timeout 61m', 'expected a duration of 0s to 1h'],
    ['--jwks-max-stale 0s', 'expected a duration of 1s to 720h'],
    ['--max-body-bytes 10MB', '--max-body-bytes "10MB": expected a size of 1KiB to 1GiB'],
    ['--max-body-bytes 1', 'expected a size of 1KiB to 1GiB'],
    ['--trusted-hops -1', '--trusted-hops "-1": expected a whole number between 0 and 20'],
    ['--trusted-hops 1.5', 'expected a whole number between 0 and 20'],
    ['--log-level loud', 'expected one of trace, debug, info, warn, error, fatal, silent'],
    ['--metadata-issuer both', 'expected one of provider, gateway'],
    ['--api-group Policy', '--api-group "Policy": expected a DNS name in lower case'],
    ['--listen-address localhost', 'expected an IP address'],
  ])('%s is refused with what was expected', (flags, sentence) => {
    expect(wrongOf(`serve --resources x ${flags}`).join('\n')).toContain(sentence)
  })

  test('Envoy binds addresses, not names', () => {
    expect(wrongOf('bootstrap --envoy-admin localhost:19000')[0]).toContain('expected IP:PORT')
  })

  test.each([
    ['--kubernetes --status 127.0.0.1:1', '--status with --kubernetes needs --admin-token-file'],
    [
      '--kubernetes --admin-token-file t --status 0.0.0.0:1',
      '--status 0.0.0.0:1: expected an address on loopback with --kubernetes',
    ],
    ['--resources x --status 127.0.0.1:18001', '--status and --admin are both 127.0.0.1:18001'],
    [
      '--resources x --held-bytes 29MiB',
      '--held-bytes is less than three times --max-body-bytes: a body of that size never passed',
    ],
    [
      '--resources x --held-bytes 3MiB --max-body-bytes 1MiB --mcp-body-bytes 4MiB',
      '--held-bytes is less than --mcp-body-bytes: a body of that size never passed',
    ],
  ])('serve %s is refused', (flags, sentence) => {
    expect(wrongOf(`serve ${flags}`)).toEqual([expect.stringContaining(sentence)])
  })

  test('all errors are reported at once', () => {
    expect(wrongOf('serve --resources x --trusted-hops x --grpc y')).toHaveLength(2)
  })
})

describe('the environment', () => {
  test('sets every flag; the flag itself wins', () => {
    const environment = { GATEHOUSE_DRAIN_TIMEOUT: '3s', GATEHOUSE_RESOURCES: 'a,b' }
    expect(settingsOf('serve', environment)).toMatchObject({
      drainTimeout: 3000,
      resources: ['a', 'b'],
    })
    expect(settingsOf('serve --drain-timeout 4s', environment)).toMatchObject({
      drainTimeout: 4000,
    })
  })

  test('is named in what is wrong', () => {
    expect(wrongOf('serve --resources x', { GATEHOUSE_LOG_LEVEL: 'loud' })[0]).toMatch(
      /^GATEHOUSE_LOG_LEVEL "loud": expected one of/,
    )
  })

  test('what belongs to other commands is left alone, as is what is empty', () => {
    // Kubernetes sets GATEHOUSE_PORT for a Service that is called gatehouse.
    const environment = { GATEHOUSE_PORT: 'tcp://10.0.0.1:80', GATEHOUSE_LOG_LEVEL: '' }
    expect(settingsOf('serve --resources x', environment).logLevel).toBe('info')
  })
})

describe('commands', () => {
  test('a missing, unknown or misspelt command lists the commands', () => {
    expect(wrongOf('')[0]).toContain('a command is missing')
    expect(wrongOf('dance')[0]).toBe(
      `"dance" is not a command; expected one of ${commandNames.join(', ')}`,
    )
    expect(wrongOf('chek')[0]).toBe('"chek" is not a command; did you mean "check"?')
    expect(wrongOf('--grpc x')[0]).toContain('--grpc stands before the command')
  })

  test('a misspelt flag gets a suggestion, and a flag of another command names that command', () => {
    expect(wrongOf('run --resuorces x')[0]).toBe(
      '--resuorces is not a flag of "gatehouse run"; did you mean --resources?',
    )
    expect(wrongOf('run --resources x --port 1')[0]).toBe(
      '--port is not a flag of "gatehouse run"; it belongs to demo',
    )
    expect(wrongOf('crds --what')[0]).toContain('see "gatehouse crds --help"')
  })

  test('a flag without its value, given twice, or words too many are refused', () => {
    expect(wrongOf('run --resources')[0]).toBe('--resources needs a value: --resources PATH')
    expect(wrongOf('run --resources --grpc x')[0]).toContain('--resources needs a value')
    expect(wrongOf('run --resources x --grpc a:1 --grpc b:2')[0]).toBe(
      '--grpc is given more than once',
    )
    expect(wrongOf('run --resources x y')[0]).toContain('"y" is too much')
  })

  test('check and translate take paths, and need one', () => {
    expect(settingsOf('check a b').paths).toEqual(['a', 'b'])
    expect(wrongOf('check')[0]).toBe('a path is missing; usage: gatehouse check PATH...')
    expect(wrongOf('translate')[0]).toContain('gatehouse translate PATH...')
  })

  test('run and serve need resources', () => {
    expect(wrongOf('run')[0]).toContain('--resources is missing')
    expect(wrongOf('serve')[0]).toContain('--resources or --kubernetes is missing')
  })

  test('serve takes resources from one place', () => {
    expect(settingsOf('serve --kubernetes --namespace a').kubernetes).toBe(true)
    expect(wrongOf('serve --kubernetes --resources x')[0]).toContain('exclude each other')
    expect(wrongOf('serve --resources x --namespace a')[0]).toContain('belongs to --kubernetes')
    const lease = '--status-lease a/b'
    expect(wrongOf(`serve --resources x ${lease}`)[0]).toContain('belongs to --kubernetes')
    expect(wrongOf(`serve --kubernetes --for envoy-gateway ${lease}`)[0]).toContain('exclude')
  })

  test('the name of a route is a key for a mesh alone', () => {
    const mesh = settingsOf('serve --resources x --for envoy-gateway --route-key envoy-gateway')
    expect(mesh).toMatchObject({ for: 'envoy-gateway', routeKey: 'envoy-gateway' })
    expect(wrongOf('serve --resources x --route-key envoy-gateway')).toEqual([
      '--route-key envoy-gateway belongs to --for envoy-gateway',
    ])
    expect(settingsOf('translate x --for envoy').for).toBe('envoy')
    expect(wrongOf('serve --resources x --for envoy')[0]).toContain('belongs to translate')
    expect(wrongOf('translate x --sealed')).toEqual([
      '--sealed belongs to --for envoy-gateway or istio',
    ])
    expect(wrongOf('translate x --for envoy-gateway --custom-provider gatehouse')).toEqual([
      '--custom-provider belongs to --for istio',
    ])
    expect(wrongOf('translate x --for linkerd')[0]).toContain('expected one of envoy-gateway')
  })

  test('a mesh whose objects are applied must know where to connect', () => {
    const serve = 'serve --kubernetes --for envoy-gateway'
    expect(wrongOf(serve)[0]).toContain('--connect is missing')
    expect(wrongOf(`${serve} --connect a:1`)).toEqual([
      '--for envoy-gateway with --kubernetes needs --route-key envoy-gateway',
    ])
    const whole = settingsOf(`${serve} --connect a:1 --route-key envoy-gateway`)
    expect(whole.connect).toMatchObject({ host: 'a', port: 1 })
    expect(wrongOf('serve --kubernetes --connect a:1')[0]).toContain('--connect belongs to')
    const istio = 'serve --kubernetes --for istio'
    expect(wrongOf(istio)[0]).toContain('--connect is missing')
    expect(settingsOf(`${istio} --connect a:1 --workers 2`).for).toBe('istio')
    expect(wrongOf(`${istio} --connect a:1 --custom-provider x`)).toEqual([
      '--custom-provider belongs to --for istio without --kubernetes',
    ])
  })

  test.each([
    ['serve --resources x --provision', '--provision belongs to --kubernetes'],
    ['serve --kubernetes --provision', '--provision needs --connect'],
    ['serve --kubernetes --provision --connect unix:/s', 'expected HOST:PORT'],
    ['serve --kubernetes --provision --connect a:1 --for istio', '--for has it serve none'],
    ['serve --kubernetes --provision --connect a:1 --connect-tls b', 'expected all or none'],
    ['serve --kubernetes --provision --connect a:1 --connect-ca b', 'expected all or none'],
    [`serve --kubernetes --provision --connect a:1 ${OWN_TLS}`, 'expected all or none'],
    ['serve --kubernetes --connect-ca b', '--connect-ca belongs to --provision'],
  ])(
    '%s is wrong: Envoys are created in a cluster, and must know where to connect',
    (line, why) => {
      expect(wrongOf(line).join()).toContain(why)
      const whole = settingsOf('serve --kubernetes --provision --connect a:1')
      expect(whole).toMatchObject({ provision: true, connect: { host: 'a', port: 1 } })
    },
  )

  test('bootstrap reads a Gateway and where to connect', () => {
    expect(settingsOf('bootstrap --gateway ns/gw --connect unix:/s')).toMatchObject({
      gateway: { namespace: 'ns', name: 'gw' },
      connect: { type: 'unix', path: '/s' },
    })
    expect(wrongOf('bootstrap --gateway gw')[0]).toBe('--gateway "gw": expected NAMESPACE/NAME')
  })
})

describe('flags that belong together', () => {
  test('TLS needs certificate and key; client authorities need TLS', () => {
    expect(wrongOf('serve --resources x --grpc-tls-cert c')[0]).toContain('belong together')
    expect(wrongOf('serve --resources x --grpc-client-ca c')[0]).toContain('--grpc-client-ca needs')
    expect(
      settingsOf('serve --resources x --grpc-tls-cert c --grpc-tls-key k --grpc-client-ca a'),
    ).toMatchObject({ grpcTlsCert: 'c', grpcTlsKey: 'k', grpcClientCa: 'a' })
  })

  test('two servers cannot have one address', () => {
    expect(wrongOf('serve --resources x --grpc a:1 --admin a:1')[0]).toContain('both a:1')
    expect(settingsOf('serve --resources x --grpc a:0 --admin a:0').command).toBe('serve')
  })
})

describe('help', () => {
  test('is asked for in every usual way', () => {
    for (const line of ['help', '--help', '-h']) expect(helpOf(line)).toContain('Commands:')
    for (const line of ['help run', 'run --help', 'run -h', 'run --resources x --help'])
      expect(helpOf(line)).toContain('Usage: gatehouse run')
    for (const line of ['--version', 'version'])
      expect(parseCommandLine([line], {})).toEqual({ type: 'version' })
    expect(wrongOf('help chek')[0]).toContain('did you mean "check"')
  })

  test.each(commandNames)(
    'of %s names each of its flags, with its variable and default',
    (name) => {
      const text = helpOf(`help ${name}`)
      for (const key of flagsOf(name)) {
        expect(text).toContain(`--${flagName(key)}`)
        expect(text.replace(/\s+/g, ' ')).toContain(FLAGS[key].meaning)
      }
      for (const example of COMMANDS[name].examples) expect(text).toContain(example)
      for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(110)
    },
  )

  test('every default is one that its flag reads', () => {
    for (const key of Object.keys(FLAGS) as FlagKey[]) {
      const { default: preset, read } = FLAGS[key]
      if (preset !== undefined) expect(read(preset), key).toMatchObject({ ok: true })
    }
  })
})
