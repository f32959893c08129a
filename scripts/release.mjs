// node scripts/release.mjs IMAGE SOURCE FOLDER: writes what a release attaches to FOLDER, from the checkout in the working
// directory: the chart and kubernetes.yaml with IMAGE as the repository of their image, and notes.md, the section of the
// version in CHANGELOG.md. SOURCE is the URL of the checkout's files, to which links of the notes lead.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const [image, source, folder] = parseArgs({ allowPositionals: true }).positionals
if (folder === undefined) throw new Error('expected IMAGE SOURCE FOLDER')

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

/** Replaces texts of which each occurs exactly once, so that a change of the file cannot go unnoticed. */
function replace(file, pairs) {
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of pairs) {
    const parts = text.split(from)
    if (parts.length !== 2)
      throw new Error(`${file}: expected ${from} once, not ${parts.length - 1} times`)
    text = parts.join(to)
  }
  writeFileSync(file, text)
}

/** Returns the section of this version, without its heading, with links that work outside the checkout. */
function notes() {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  const section = sections.find((text) => text.startsWith(`${version} `))
  const body = section?.slice(section.indexOf('\n')).trim() ?? ''
  if (body === '') throw new Error(`CHANGELOG.md: expected a section "## ${version} - DATE"`)
  return `${body.replace(/\]\((?!https?:|#)/g, `](${source}/`)}\n`
}

mkdirSync(folder, { recursive: true })
const chart = join(folder, 'gatehouse')
cpSync('deploy/helm/gatehouse', chart, { recursive: true })
const BUILD = 'Build it from the Dockerfile and push it to a registry that the cluster pulls from.'
replace(join(chart, 'values.yaml'), [
  [`# ${BUILD}\n`, '# The image of this release.\n'],
  ['\n  repository: gatehouse\n', `\n  repository: ${image}\n`],
])
replace(join(chart, 'README.md'), [
  [BUILD, 'The image of this release.'],
  [/(?<=`image\.repository` +\| )`"gatehouse"`/, `\`"${image}"\``],
])
cpSync('deploy/kubernetes.yaml', join(folder, 'kubernetes.yaml'))
replace(join(folder, 'kubernetes.yaml'), [
  [`image: gatehouse:${version}\n`, `image: ${image}:${version}\n`],
])
writeFileSync(join(folder, 'notes.md'), notes())
