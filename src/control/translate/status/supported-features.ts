// The features of the Gateway API that Gatehouse supports, for the status of GatewayClasses.

/**
 * Names of the features, sorted. Each is here because the official conformance suite passes with it
 * (npm test -- --project gateway-api).
 */
export const SUPPORTED_FEATURES: readonly string[] = [
  'BackendTLSPolicy',
  'BackendTLSPolicySANValidation',
  'Gateway',
  'GatewayAddressEmpty',
  'GatewayBackendClientCertificate',
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayHTTPListenerIsolation',
  'GatewayHTTPSListenerDetectMisdirectedRequests',
  'GatewayPort8080',
  'GatewayStaticAddresses',
  'HTTPRoute',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteBackendProtocolH2C',
  'HTTPRouteBackendProtocolWebSocket',
  'HTTPRouteBackendRequestHeaderModification',
  'HTTPRouteBackendTimeout',
  'HTTPRouteCORS',
  'HTTPRouteDestinationPortMatching',
  'HTTPRouteHostRewrite',
  'HTTPRouteMethodMatching',
  'HTTPRouteNamedRouteRule',
  'HTTPRouteParentRefPort',
  'HTTPRoutePathRedirect',
  'HTTPRoutePathRewrite',
  'HTTPRoutePortRedirect',
  'HTTPRouteQueryParamMatching',
  'HTTPRouteRequestMirror',
  'HTTPRouteRequestMultipleMirrors',
  'HTTPRouteRequestPercentageMirror',
  'HTTPRouteRequestTimeout',
  'HTTPRouteResponseHeaderModification',
  'HTTPRouteRetry',
  'HTTPRouteRetryBackendTimeout',
  'HTTPRouteRetryConnectionError',
  'HTTPRouteSchemeRedirect',
  'ListenerSet',
  'ReferenceGrant',
]

/** A feature that no Envoy created by Gatehouse has: its addresses are those that its Service gets. */
const NOT_PROVISIONED = 'GatewayStaticAddresses'

/**
 * Features whose tests use HTTPS listeners or private keys. Envoys that Gatehouse creates get these only if they reach
 * Gatehouse over TLS.
 */
const WITH_KEYS: ReadonlySet<string> = new Set([
  'BackendTLSPolicy',
  'BackendTLSPolicySANValidation',
  'GatewayBackendClientCertificate',
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayHTTPSListenerDetectMisdirectedRequests',
  'HTTPRoutePortRedirect',
])

/**
 * Names of the features, sorted, if Gatehouse creates the Envoys and they reach it over TLS: `spec.infrastructure` is in
 * force (npm test -- --project cluster gateway-api).
 */
export const PROVISION_TLS_FEATURES: readonly string[] = [
  ...SUPPORTED_FEATURES.filter((feature) => feature !== NOT_PROVISIONED),
  'GatewayInfrastructure',
].sort()

/** Names of the features, sorted, if Gatehouse creates the Envoys and they reach it without TLS. */
export const PROVISION_FEATURES: readonly string[] = PROVISION_TLS_FEATURES.filter(
  (feature) => !WITH_KEYS.has(feature),
)
