// node scripts/sbom.mjs: prints a CycloneDX 1.6 document of the shipped packages, made from package-lock.json.
// It does not use `npm sbom --omit dev`, which omits packages that a development package needs too, nor the official
// generator, which reads what is installed on one platform.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './stale.mjs'

const { name, version, license, description, packages } = {
  ...JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
  ...JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')),
}

/** Package URL of type npm: https://github.com/package-url/purl-spec */
const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`

const licensesOf = (license) =>
  license === undefined
    ? {}
    : { licenses: [/ /.test(license) ? { expression: license } : { license: { id: license } }] }

/** Converts "sha512-BASE64" (Subresource Integrity) to a CycloneDX hash. */
function hashOf(integrity) {
  const [algorithm, digest] = integrity.split('-')
  const content = Buffer.from(digest, 'base64').toString('hex')
  return { alg: algorithm.replace('sha', 'SHA-'), content }
}

function componentOf([path, { version, license, integrity, optional }]) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const purl = purlOf(name, version)
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    scope: optional ? 'optional' : 'required',
    hashes: [hashOf(integrity)],
    ...licensesOf(license),
    purl,
  }
}

const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
const components = new Map(shipped.map(componentOf).map((component) => [component.purl, component]))
const document = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': purlOf(name, version),
      name,
      version,
      description,
      ...licensesOf(license),
      purl: purlOf(name, version),
    },
  },
  components: [...components.values()],
}
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
