// The official Gateway API conformance suite with the chart and envoys.provision: the Gateways get pods of Envoy.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { gatewayApiDefinitions } from '../gateway-api/support/definitions.js'
import { runSuite } from '../gateway-api/support/suite.js'
import { inNamespace, tlsSecret } from '../kubernetes/support/objects.js'
import { selfSigned } from '../support/certificates.js'
import { api, install, readyPods, type Release } from './support/cluster.js'
import { KUBECONFIG } from './support/programs.js'

const NAMESPACE = 'conformance'
/** How a test ended, in the log of the suite. */
const OUTCOME = /(?:PASS|FAIL): TestConformance\/[^/\s]+(?= )/g

/** Some tests of features that created Envoys have with TLS alone. */
const OF_PRIVATE_KEYS = [
  'BackendTLSPolicy',
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayTLSBackendClientCertificate',
  'HTTPRouteHTTPSListener',
  'HTTPRouteHTTPSListenerDetectMisdirectedRequests',
  'HTTPRouteRedirectPortAndScheme',
]

// Each test has Gateways with pods of their own, which must start within the 30 s that the suite gives a request.
const flags = ['-cleanup-base-resources=true', `-test.parallel=${String(availableParallelism())}`]
const tls = { secretName: 'server' }

/** Releases with TLS towards Gatehouse, or without: Envoys get private keys by TLS alone, also those of listeners. */
const RELEASES: readonly (readonly [string, object, readonly string[], readonly string[]])[] = [
  ['with TLS', { tls }, flags, [...OF_PRIVATE_KEYS, 'GatewayInfrastructureMetadata']],
  [
    'without TLS, but the one that needs HTTPS listeners',
    ...([{}, [...flags, '-skip-tests', 'HTTPRouteHTTPSListener']] as const),
    ['GatewayInfrastructureMetadata'],
  ],
]

let release: Release | undefined

beforeAll(async () => {
  // The suite creates objects of more kinds than Gatehouse reads.
  await api.apply(...gatewayApiDefinitions())
  const pair = selfSigned(`gatehouse.${NAMESPACE}.svc`)
  const secret = tlsSecret('server', pair) as { readonly stringData: object }
  const stringData = { ...secret.stringData, 'ca.crt': pair.cert }
  await api.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    inNamespace(NAMESPACE, { ...secret, stringData }),
  )
})

afterEach(() => release?.uninstall())

test.each(RELEASES)(
  'every test of core and of the claimed features passes with real pods, %s',
  {
    timeout: 3_600_000,
  },
  async (_, values, flags, passing) => {
    release = await install(NAMESPACE, {
      envoys: { provision: true, replicas: 1, serviceType: 'ClusterIP' },
      envoy: { resources: { requests: { cpu: '10m', memory: '32Mi' } } },
      references: 'all',
      ...values,
    })
    await readyPods(NAMESPACE, 2)
    // The suite tests what the status says when it begins.
    await eventually(async () => {
      const { status } = await api.get('gateway.networking.k8s.io/v1', 'GatewayClass', 'gatehouse')
      expect(status).toHaveProperty('supportedFeatures')
    }, 60_000)
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-gateway-api-'))
    const options = { kubeconfig: KUBECONFIG, gatewayClass: 'gatehouse', folder, flags }
    const { core, extended } = await runSuite(options)
    const failed = [...(core.failedTests ?? []), ...(extended?.failedTests ?? [])]
    expect({ failed, logs: folder }).toEqual({ failed: [], logs: folder })
    // The report does not count tests of features that belong to no profile.
    const outcomes = readFileSync(join(folder, 'suite.log'), 'utf8').match(OUTCOME)
    expect(outcomes).toEqual(
      expect.arrayContaining(passing.map((name) => `PASS: TestConformance/${name}`)),
    )
    expect(outcomes?.filter((outcome) => outcome.startsWith('FAIL'))).toEqual([])
    rmSync(folder, { recursive: true })
  },
)
