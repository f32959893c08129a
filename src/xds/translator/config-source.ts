// Where Envoy gets what a resource refers to: over the ADS stream that the bootstrap opens.

import type { JsonObject } from '../../ir/json.js'

export const ADS_SOURCE: JsonObject = { ads: {}, resource_api_version: 'V3' }
