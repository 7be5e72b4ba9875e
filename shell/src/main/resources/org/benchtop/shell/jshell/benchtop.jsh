import java.io.*
import java.math.*
import java.nio.file.*
import java.time.Duration
import java.util.*
import java.util.concurrent.*
import java.util.function.*
import java.util.stream.*
import org.benchtop.bench.Trial
import org.benchtop.bench.measure.*
import org.benchtop.bench.report.Report
import org.benchtop.engine.*
import org.benchtop.engine.config.*
import org.benchtop.guests.lang.Guest
import org.benchtop.shell.lab.*
import org.benchtop.spi.*
import static org.benchtop.shell.lab.Lab.*
import static org.benchtop.shell.lab.Printing.*

/set mode benchtop -quiet
/set prompt benchtop '\nlab> ' ' ...> '
/set format benchtop pre '|  '
/set format benchtop post '%n'
/set format benchtop errorpre '|  '
/set format benchtop errorpost '%n'
/set format benchtop errorline '{post}{pre}    {err}'
/set format benchtop action 'created' added-primary
/set format benchtop action 'modified' modified-primary
/set format benchtop action 'replaced' replaced-primary
/set format benchtop action 'overwrote' overwrote-primary
/set format benchtop action 'dropped' dropped-primary
/set format benchtop until ', however, it cannot be used until' defined,notdefined-primary
/set format benchtop unrerr '{unresolved} is declared' unresolved1-error0
/set format benchtop unrerr '{unresolved} are declared' unresolved2-error0
/set format benchtop unrerr ' this error is corrected: {errors}' unresolved0-error1
/set format benchtop unrerr '{unresolved} is declared and this error is corrected: {errors}' unresolved1-error1
/set format benchtop unrerr '{unresolved} are declared and this error is corrected: {errors}' unresolved2-error1
/set format benchtop unrerr ' these errors are corrected: {errors}' unresolved0-error2
/set format benchtop resolve '{until} {unrerr}' defined,notdefined-added,modified,replaced,used
/set format benchtop typeKind 'class' class
/set format benchtop typeKind 'interface' interface
/set format benchtop typeKind 'enum' enum
/set format benchtop typeKind 'annotation interface' annotation
/set format benchtop typeKind 'record' record
/set format benchtop result '{name} ==> {value}{post}' added,modified,replaced-ok-primary
/set format benchtop display '{result}' added,modified,replaced-expression,varvalue,assignment,varinit,vardecl-ok-primary
/set format benchtop display '{pre}{action} variable {name}{resolve}{post}' replaced-vardecl,varinit-notdefined
/set format benchtop display '{pre}{action} {typeKind} {name}{resolve}{post}' class,interface,enum,annotation,record-primary
/set format benchtop display '{pre}{action} method {name}({type}){resolve}{post}' method-primary
/set truncation benchtop 200
/set truncation benchtop 100000 varvalue,expression
