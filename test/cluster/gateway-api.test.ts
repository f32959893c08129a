// The official Gateway API conformance suite with the chart and envoys.provision: the Gateways get pods of Envoy.

import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test } from 'vitest'
import {
  PROVISION_FEATURES,
  PROVISION_TLS_FEATURES,
} from '../../src/control/translate/status/supported-features.js'
import { eventually } from '../../testing/eventually.js'
import { gatewayApiDefinitions } from '../gateway-api/support/definitions.js'
import {
  committedReport,
  expectNoFailure,
  runSuite,
  type SuiteRun,
} from '../gateway-api/support/suite.js'
import { inNamespace, tlsSecret } from '../kubernetes/support/objects.js'
import { selfSigned } from '../support/certificates.js'
import { api, install, readyPods, type Release } from './support/cluster.js'
import { KUBECONFIG } from './support/programs.js'

const NAMESPACE = 'conformance'
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
const FLAGS = ['-cleanup-base-resources=true', `-test.parallel=${String(availableParallelism())}`]
const INFRASTRUCTURE = 'GatewayInfrastructureMetadata'
/** Features that the report names nowhere or not always: those of core, and the one of INFRASTRUCTURE. */
const OTHER_FEATURES = ['Gateway', 'HTTPRoute', 'ReferenceGrant', 'GatewayInfrastructure']

interface Case {
  readonly how: string
  /** Values of the chart. */
  readonly values: object
  /** Tests that the suite is told to skip. */
  readonly skipped: readonly string[]
  /** Tests that must be among those that pass. */
  readonly passing: readonly string[]
  /** What the GatewayClass claims. */
  readonly features: readonly string[]
}

/** Releases with TLS towards Gatehouse, or without: Envoys get private keys by TLS alone, also those of listeners. */
const RELEASES: readonly Case[] = [
  {
    how: 'with TLS',
    values: { tls: { secretName: 'server' } },
    skipped: [],
    passing: [...OF_PRIVATE_KEYS, INFRASTRUCTURE],
    features: PROVISION_TLS_FEATURES,
  },
  {
    how: 'without TLS, but the one that needs HTTPS listeners',
    values: {},
    skipped: ['HTTPRouteHTTPSListener'],
    passing: [INFRASTRUCTURE],
    features: PROVISION_FEATURES,
  },
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
  'every test of core and of the claimed features passes with real pods, $how',
  {
    timeout: 3_600_000,
  },
  async ({ values, skipped, passing, features }) => {
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
    const flags = [...FLAGS, ...skipped.flatMap((name) => ['-skip-tests', name])]
    const options = { kubeconfig: KUBECONFIG, gatewayClass: 'gatehouse', folder, flags }
    const run = await runSuite(options)
    expectNoFailure(run, folder, skipped)
    // The tests of core are the same ones wherever the Envoys come from; the features are those of the GatewayClass.
    const [{ core, extended }] = run.profiles as [SuiteRun['profiles'][number]]
    const [{ core: committed }] = committedReport() as [SuiteRun['profiles'][number]]
    expect(core.statistics.Passed).toBe(committed.statistics.Passed - skipped.length)
    const ofProfile = features.filter((name) => !OTHER_FEATURES.includes(name))
    expect(extended?.supportedFeatures?.filter((name) => !OTHER_FEATURES.includes(name))).toEqual(
      ofProfile,
    )
    // The report does not count tests of features that belong to no profile.
    expect(run.ended.PASS).toEqual(expect.arrayContaining([...passing]))
    rmSync(folder, { recursive: true })
  },
)
